"""What the names of columns hint at, in the languages of shops and of research.

A name is parted into words, at capitals and at all that is no letter or digit: ``Book-Rating`` is
book, rating. Words such as id and no are put aside. The last word that is left says what the column
holds, as in English: a book rating is a rating, the date of a review a date.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Meaning(StrEnum):
    """What the name of a column says that it holds."""

    USER = "user"
    TOPIC = "topic"
    ITEM = "item"
    GRADE = "grade"
    SCORE = "score"
    COUNT = "count"
    RANK = "rank"
    TIME = "time"
    EVENT = "event"
    SYSTEM = "system"
    MEASURE = "measure"
    VALUE = "value"
    NAME = "name"
    INDEX = "index"
    HISTORY = "history"
    SUBTOPIC = "subtopic"
    ATTRIBUTE = "attribute"


WORDS: Final[Mapping[Meaning, str]] = {
    Meaning.USER: (
        "user users uid usr usuario usuaria utilisateur utente gebruiker benutzer nutzer "
        "customer customers cust kunde kunden kundin kund kd klant client cliente clients klient "
        "klienta klientka asiakas musteri bruger bruker anvandare kayttaja kullanici uzytkownik "
        "uzytkownika zakaznik zakaznika uzivatel uzivatele "
        "member mitglied socio account konto acct visitor besucher visiteur bezoeker "
        "reader leser lector lecteur viewer listener hoerer player gamer reviewer rater buyer "
        "kaeufer kaufer comprador acheteur shopper consumer subscriber abonnent patron borrower "
        "student learner household profile person persona steam loyalty card carte karte "
        "tarjeta tessera cartao kaart kort device cookie visit session sid"
    ),
    Meaning.TOPIC: "qid topic topics query queries q",
    Meaning.ITEM: (
        "item items iid product products produkt produkte produit producto produto prodotto "
        "artikel article articulo articolo artigo artykul produktu vara vare tuote urun zbozi "
        "reference referencia ref art sku asin isbn ean gtin upc movie movies "
        "film book books buch libro livre boek track tracks song songs album artist band "
        "game games spiel jeu juego anime manga show series serie video clip podcast stock "
        "beer wine recipe rezept dish restaurant hotel business venue poi place location course "
        "listing offer offre angebot news story docno doc docs docid document pid passage corpus "
        "page url app good goods ware material merchandise prod object content ad"
    ),
    Meaning.GRADE: (
        "rating ratings rate stars star sterne grade grades relevance rel label judgement "
        "judgment qrel bewertung note valoracion puntuacion calificacion estrellas evaluation "
        "valutazione voto avaliacao beoordeling betyg vurdering arvosana puan ocena hodnoceni "
        "overall opinion liked"
    ),
    Meaning.SCORE: "score scores sim similarity prediction predicted pred",
    Meaning.COUNT: (
        "count counts plays playcount playtime listens quantity qty menge anzahl stueck stuck stk "
        "stck pcs pieces unidades unites "
        "cantidad quantite qte quantita quantidade qtd cant aantal antal maara adet ilosc pocet "
        "unidad unidade unite unita hours hrs minutes mins seconds secs duration "
        "stunden minuten sekunden clicks views visits purchases frequency freq weight"
    ),
    Meaning.RANK: "rank ranks position pos",
    Meaning.TIME: (
        "time timestamp date datetime dt ts zeit zeitpunkt zeitstempel datum uhrzeit fecha hora "
        "tiempo heure tijd tijdstip unixtime dato data pvm paivamaara tarih at when"
    ),
    Meaning.EVENT: (
        "event events action activity behavior behaviour interaction ereignis evento aktion"
    ),
    Meaning.SYSTEM: "system run tag model algorithm",
    Meaning.MEASURE: "measure metric",
    Meaning.SUBTOPIC: "subtopic subtopics intent intents iteration",
    Meaning.VALUE: "value mean",
    Meaning.INDEX: "index unnamed row rownum",
    Meaning.ATTRIBUTE: (
        "category categories genre genres brand price preis precio prix prezzo preco amount cost "
        "revenue sales total tax discount net gross currency betrag umsatz text comment comments "
        "review summary description url image images link color colour size country land city "
        "region gender sex age zip language type status email phone address helpful verified vote "
        "votes channel store shop order orders invoice transaction basket cart receipt flag "
        "reviewed read latitude longitude lat lon lng beleg bon bestellung auftrag rechnung "
        "filiale bezeichnung beschreibung vk ek pedido commande facture ticket designation "
        "descripcion descrizione descricao omschrijving magasin tienda winkel negozio loja butik "
        "sklep ttc tva iva btw cena precios importe importo bedrag montant vendedor vendeur"
    ),
}
"""Words by what they mean. Of two users, or items, in a table the one that stands first counts."""

WEAK: Final = ("title", "titel", "titre", "titulo", "titolo", "name", "names", "nombre", "nom")
"""Words for what users and items are called: they stand for it where no column has its id."""

LIST: Final = ("list", "lists", "history", "sequence", "seq", "hist")
"""Words, behind one for items, for several items in a cell."""

THINGS: Final = (Meaning.USER, Meaning.TOPIC, Meaning.ITEM)
"""What has ids."""

KINDS: Final = ("type", "kind", "typ", "tipo")
"""Words behind one for events that say no more: event_type."""

LASTING: Final = ("play", "watch", "dwell", "listen", "view", "reading", "session", "stay", "spent")
"""Words before "time" that make it a duration."""

OF_IDS: Final = (
    *("id", "ids", "no", "nr", "num", "number", "numero", "nummer", "key", "code", "hash", "idx"),
    *("n", "uuid", "mbid", "sha1", "mboxsha1", "raw", "unix", "the", "of", "in", "orig"),
    *("original", "anon", "anonymous"),
)
"""Words that say nothing of what a column holds."""

ENDINGS_OF_IDS: Final = (
    "ids",
    "id",
    "nummer",
    "numero",
    "number",
    "code",
    "kod",
    "num",
    "no",
    "nr",
)
"""Ends of words that are written together: visitorid, Artikelnummer."""

FLAGS: Final = frozenset(("is", "has", "was"))
"""Words that a column of yes and no begins with."""

ENDINGS: Final[Mapping[str, Meaning]] = {
    "datum": Meaning.TIME,
    "zeit": Meaning.TIME,
    "date": Meaning.TIME,
    "time": Meaning.TIME,
    "timestamp": Meaning.TIME,
}
"""Ends of words that are written together: Bestelldatum, orderdate."""

OF_RECBOLE: Final = re.compile(r":(token|float)(_seq)?$")
"""What RecBole writes behind the name of a column."""

MEANINGS: Final[Mapping[str, tuple[Meaning, int]]] = {
    word: (meaning, place)
    for meaning, words in WORDS.items()
    for place, word in enumerate(words.split())
}
"""Meaning of each word, and its place among those of the meaning."""


@dataclass(frozen=True, order=True)
class Hint:
    """What the name of a column hints at.

    Of several hints at one meaning the least counts: one of the word alone before one with further
    words, and a usual word before a rare one.

    Parameters
    ----------
    weakness
        0 for a word, perhaps with "id"; 1 with further words; 2 for what a thing is called.
    place
        Place of the word among those of its meaning, from 0.
    meaning
        What the column is said to hold.
    """

    weakness: int
    place: int
    meaning: Meaning


def words_of(name: object) -> list[str]:
    """Part the name of a column into words, small, without accents.

    Examples
    --------
    >>> words_of("Kd.-Nr."), words_of("bookRating"), words_of("item_id:token")
    (['kd', 'nr'], ['book', 'rating'], ['item', 'id'])
    """
    text = OF_RECBOLE.sub("", str(name).strip())
    # The sharp s and umlauts of upper-case letters are written out or lose their dots.
    letters = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return [word for word in re.split(r"[^a-z0-9]+", parted.casefold()) if word]


def hint_of(name: object) -> Hint | None:
    """Look up what the name of a column hints at; None if it says nothing.

    The last word that is no word for ids says what the column holds. A hint is the weaker, the more
    else the name says: see `Hint`. An empty name is that of an index.

    Examples
    --------
    >>> hint_of("customer_no").meaning, hint_of("Book-Rating").meaning, hint_of("w")
    (<Meaning.USER: 'user'>, <Meaning.GRADE: 'grade'>, None)
    """
    all_words = words_of(name)
    if not all_words:
        # pandas writes the numbers of rows under an empty name. Other scripts are not known.
        return None if str(name).strip() else Hint(0, 0, Meaning.INDEX)
    if all_words[0] in FLAGS and len(all_words) > 1:
        return Hint(1, 0, Meaning.ATTRIBUTE)
    words = [part for word in all_words for part in _without_id(word) if part not in OF_IDS]
    if not words:
        return None
    head = words[-1]
    before = words[:-1]
    if head in LIST and before and _meaning_of(before[-1]) == Meaning.ITEM:
        return Hint(0, 0, Meaning.HISTORY)
    if head in WEAK:
        if not before:
            return Hint(2, 0, Meaning.NAME if head == "name" else Meaning.ITEM)
        meaning = _meaning_of(before[-1])
        is_thing = meaning in THINGS
        return Hint(2, WEAK.index(head), meaning) if meaning and is_thing else None
    if head in KINDS and before and _meaning_of(before[-1]) == Meaning.EVENT:
        return Hint(0, 0, Meaning.EVENT)
    if head == "time" and before and before[-1] in LASTING:
        return Hint(0, 0, Meaning.COUNT)
    meaning = _meaning_of(head)
    if meaning is None:
        return _hint_in_the_middle(before)
    # "Book rating" is as clear as "rating"; "parent asin" is not as clear as "asin".
    is_clear = all(_meaning_of(word) is not None for word in before)
    if meaning in THINGS:
        is_clear = not before or {_meaning_of(word) for word in before} == {meaning}
    place = MEANINGS[head][1] if head in MEANINGS else 0
    return Hint(0 if is_clear else 1, place, meaning)


def _hint_in_the_middle(words: list[str]) -> Hint | None:
    """Look up the last word that says something, where the head of a name says nothing.

    Its weakness is 1. None if no word is known.
    """
    for word in reversed(words):
        if word in MEANINGS:
            meaning, place = MEANINGS[word]
            return Hint(1, place, meaning)
    return None


def _meaning_of(word: str) -> Meaning | None:
    """Look up the meaning of a word; None for a word that is not known."""
    if word in MEANINGS:
        return MEANINGS[word][0]
    endings = (meaning for ending, meaning in ENDINGS.items() if word.endswith(ending))
    return next(endings, None)


def _without_id(word: str) -> list[str]:
    """Part a word that is written together with "id": visitorid, Artikelnummer.

    The parts are the known word and "id"; a word that is known itself, or of which no known word is
    left, stays whole.
    """
    for ending in ENDINGS_OF_IDS:
        stem = word.removesuffix(ending)
        if stem != word and word not in MEANINGS and stem in MEANINGS:
            return [stem, "id"]
    stem = word.removeprefix("id")
    if stem != word and word not in MEANINGS and stem in MEANINGS:
        return ["id", stem]
    return [word]
