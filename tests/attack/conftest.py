"""The Hypothesis profile of the attack, which tests name; the other tests keep theirs."""

from hypothesis import HealthCheck, settings

# Each attack seeds its draws itself (`seed_of`), so that a quick run is the same every time.
settings.register_profile(
    "attack",
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
