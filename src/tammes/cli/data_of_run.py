"""The data that a run was trained on, found by the command that started it."""

from pathlib import Path

from tammes.cli.options.data import Split


def data_of_run(run: Path, by_hand: str) -> tuple[Split, Path]:
    """Return the options of the data of a run, and the folder that their paths are relative to.

    Args:
        run: folder of the run.
        by_hand: command that names the data, for messages.

    Raises:
        ValueError: a run that has not finished, does not say on which data it was trained, or was started in
            a folder that is not there.
    """
    # With lightning, which takes seconds: what needs no data of a run does without.
    from tammes.cli.options.train import parse
    from tammes.cli.texts import trained_whole
    from tammes.training.command import Command
    from tammes.training.run_folder import RunFolder, read_config

    folder = RunFolder(path=run)
    read_config(folder.config)  # refuses a folder without a run
    if not folder.command_file.is_file():
        raise ValueError(f"{run} does not say on which data it was trained: name them, {by_hand}")
    command = Command.load(folder.command_file)
    if not command.folder.is_dir():
        raise ValueError(
            f"{run} was started in {command.folder}, which is not there: name its data, {by_hand}"
        )
    choice = parse(command.words)
    source = trained_whole(choice.source) if choice.training.adjacent else choice.source
    return source, command.folder


def was_trained_on(run: Path, source: Split) -> bool:
    """Return whether a run, by the command that started it, was trained on rows that would measure it.

    Args:
        run: folder of the run; one that was made from Python says nothing.
        source: options of the data to measure on, relative to the current folder.
    """
    from tammes.cli.images import has_own_test_images

    try:
        trained, folder = data_of_run(run, "")
    except ValueError:
        return False

    def is_that_of_the_run(data: str) -> bool:
        return data == trained.data or Path(data).resolve() == Path(folder, trained.data).resolve()

    if source.test is not None:
        return is_that_of_the_run(str(source.test))
    if not is_that_of_the_run(source.data) or has_own_test_images(source.data):
        return False
    return trained.test is not None or trained.held_out_part != source.held_out_part
