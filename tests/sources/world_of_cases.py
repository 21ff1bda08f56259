"""Every case in one world, so that torch is imported once; those that fail come first."""

import functools

import cost_cases
import failing_cases
import gather_cases
import queue_cases
import training_cases
import world

FAILING = {
    name: functools.partial(failing_cases.message, call) for name, (call, _) in failing_cases.CASES.items()
}
BATCHES = {name: functools.partial(gather_cases.together, case) for name, case in gather_cases.CASES.items()}
QUEUES = {name: functools.partial(queue_cases.together, case) for name, case in queue_cases.CASES.items()}
TRAINING = {"training": training_cases.together, "part": training_cases.in_a_part}
COST = {"cost": cost_cases.together}

if __name__ == "__main__":
    world.main(FAILING | BATCHES | QUEUES | TRAINING | COST)
