"""The list of splits, one in each file: which ratings train and which test.

LensKit's splitters are not used: its `LastFrac` can put a whole profile in the test set, `SampleN`
and `LastN` leave short profiles untrained, `sample_users` can ignore its seed, and
`crossfold_users` folds users, not ratings. Here every test user keeps a training rating, unless
time itself forbids it, and a seed means the same split everywhere: each user's random order comes
from a hash of seed, user id and item id, so neither the order of rows nor the presence of other
users matters.

In the tables of the documentation a row is a user, a column an item, a number the time of a rating.
"""
