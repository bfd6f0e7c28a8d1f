"""The simulated A/B test: a world of clicks, arms that serve it, the log and the truth."""

from harness.online.arm_models import NeighbourModel as NeighbourModel
from harness.online.arm_models import SystemModel as SystemModel
from harness.online.click_world import NOW as NOW
from harness.online.click_world import ClickWorld as ClickWorld
from harness.online.click_world import ClickWorldSettings as ClickWorldSettings
from harness.online.click_world import make_click_world as make_click_world
from harness.online.simulation import Arm as Arm
from harness.online.simulation import SimulatedExperiment as SimulatedExperiment
from harness.online.simulation import SimulationSettings as SimulationSettings
from harness.online.simulation import simulate as simulate
from harness.online.simulation import write_history as write_history
from recommenders.kernels.neighbours import ItemCosines as ItemCosines
