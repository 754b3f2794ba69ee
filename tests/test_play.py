"""Games at the keyboard by script: what a person may see, what is asked, what happens to mistakes."""

import pytest

from trilithon.core import ConfigError, SpecError, load_game
from trilithon.core.aeroliths.text import litho_to_text
from trilithon.experiments.play import CLEAR, HUMAN, LeftGame, Table, Terminal, ask_game, sit_down

CLOSED = "aeroliths(elemental_cells=random)"


class Person:
    """Types from a script, or plays the first legal action once the script is at its end; keeps the screen."""

    def __init__(self, *script, seconds=0.0):
        self.script, self.seconds = list(script), seconds
        self.table = None
        self.text = ""  # all that was printed
        self.prompts = []
        self.screens = []  # (prompt, screen) at every question
        self.now = 0.0
        self.terminal = Terminal(self.read, self.write)

    def write(self, text):
        self.text += f"{text}\n"

    @property
    def screen(self):
        return self.text.rpartition(CLEAR)[2]

    def read(self, prompt, seconds):
        self.text += prompt
        self.prompts.append(prompt)
        self.screens.append((prompt, self.screen))
        self.check(prompt)
        self.now += self.seconds
        if prompt.startswith("Player "):
            return ""
        if self.script:
            typed = self.script.pop(0)
            if typed is EOFError:
                raise EOFError
            return typed
        state = self.table.state
        return state.action_to_string(state.legal_actions()[0])

    def check(self, prompt):
        """Whoever may be looking at the screen sees no Litho that is hidden from them."""
        if self.table is None:
            return
        state = self.table.state
        people = [i for i, seat in enumerate(self.table.seats) if seat == HUMAN]
        readers = people if prompt.startswith("Player ") else [int(prompt[len("player ")])]
        # Several people look in turn; a person alone has seen everything since the start.
        seen = self.screen if len(people) > 1 else self.text
        for reader in readers:
            for litho in hidden_lithos(state, reader):
                assert litho not in seen, f"{litho} is hidden from player {reader}"

    def play(self, game, *seats, seed=3, **options):
        self.table = None
        self.table = Table(load_game(game), seats, self.terminal, seed, clock=lambda: self.now, **options)
        return self.table.play()


def hidden_lithos(state, reader):
    """Texts of the Lithos that `reader` cannot know, and that no visible Litho equals."""
    shown = state.to_text(reader)
    hand = [litho_to_text(litho) for litho in state.to_dict()["hands"][1 - reader] if litho]
    return [litho for litho in hand if litho not in shown]


def test_a_person_against_an_agent():
    person = Person()
    record = person.play(CLOSED, HUMAN, "greedy")
    assert record.verify().is_terminal()
    assert record.agents == [HUMAN, "greedy"]
    assert record.seed == 3
    assert record.timed_out is None
    assert CLEAR not in person.text
    assert "hand 1: ?" in person.text
    assert "result: player 0 (human) " in person.text.splitlines()[-1]
    assert "Lithos)" in person.text.splitlines()[-1]
    assert len(person.prompts) == (5 if record.setup["first_player"] == 0 else 4)


@pytest.mark.parametrize("game", [CLOSED, "aeroliths(chaos=true)", "aeroliths(size=4,sudden_death=true)"])
def test_two_people_never_see_each_others_hands(game):
    for seed in range(4):
        person = Person()
        record = person.play(game, HUMAN, HUMAN, seed=seed)
        assert record.verify().is_terminal()
        turns = [prompt for prompt in person.prompts if prompt.startswith("player ")]
        assert len(turns) == sum(player >= 0 for player, _ in record.steps)
        # Before a turn the screen was cleared twice: for the one who leaves, and for the one who comes.
        assert sum(prompt.startswith("Player ") for prompt in person.prompts) >= 8


def test_the_checker_of_these_tests_finds_a_leak():
    person = Person()
    person.terminal.face = lambda player: None
    with pytest.raises(AssertionError, match="is hidden from player"):
        person.play(CLOSED, HUMAN, HUMAN)


def test_chance_is_told_to_whom_it_concerns():
    person = Person()
    person.play("aeroliths(chaos=true)", HUMAN, "uniform")
    assert "chance: slot ?" in person.text
    assert "picked: slot" in person.text


def test_open_games_ask_nobody_to_look_away():
    person = Person()
    person.play("aeroliths(open_hands=true)", HUMAN, HUMAN)
    assert not any(prompt.startswith("Player ") for prompt in person.prompts)


def test_agents_can_be_watched():
    person = Person()
    record = person.play("aeroliths", "greedy", "uniform")
    assert record.verify().is_terminal()
    assert person.prompts == []
    assert "result: player 0 (greedy)" in person.text


def test_the_steps_of_others_are_shown():
    person = Person()
    record = person.play("aeroliths(first_player=1)", HUMAN, "greedy")
    slot, cell = divmod(record.steps[0][1], 9)
    litho = litho_to_text(record.setup["hands"][1][slot])
    assert f"1: {slot}@{'abc'[cell % 3]}{cell // 3 + 1} = {litho}" in person.text


def test_mistakes_cost_a_line_and_nothing_else():
    person = Person("0@z9", "help", "hello", "999", "-1", "")
    record = person.play("aeroliths(first_player=0)", HUMAN, "greedy")
    assert record.verify().is_terminal()
    assert "'0@z9' is not an action" in person.text
    assert "'hello' is not an action" in person.text
    assert "action 999 is not legal for player 0; legal: 0 (0@a1)" in person.text
    assert person.text.count("legal: 0@a1, ") == 2


def test_a_draft_is_played_like_any_action():
    person = Person("pick 3")
    record = person.play("aeroliths(draft=true,first_player=0)", HUMAN, "uniform")
    assert record.steps[0] == [0, 45 + 3]
    assert "pool:" in person.text
    assert record.verify().is_terminal()


def test_hands_are_filled_by_hand():
    hand = "3-5-2-4-fire 1-1-1-1-none 10-9-8-7-water 2-2-2-2-wind 4-4-4-4-earth"
    person = Person("3-5-2-4-fire", hand.replace("10", "11"), hand, "")
    record = person.play("aeroliths(hands=manual,first_player=0)", HUMAN, HUMAN)
    assert "this hand takes 5 Lithos, not 1" in person.text
    assert "'11-9-8-7-water' is not a Litho" in person.text
    assert [litho_to_text(litho) for litho in record.setup["hands"][0]] == hand.split()
    assert len(record.setup["hands"][1]) == 4
    assert record.verify().is_terminal()
    # What the first player typed was gone before the second was asked.
    asked = [screen for prompt, screen in person.screens if prompt.startswith("hand of player 1")]
    assert len(asked) == 1
    assert "10-9-8-7-water" not in asked[0]


def test_who_is_too_slow_has_a_random_action_played():
    person = Person(seconds=5.0)
    record = person.play("aeroliths(first_player=0)", HUMAN, "greedy", turn_time=2.0)
    assert record.timed_out == [0, 2, 4, 6, 8]
    assert "Too late" in person.text
    assert record.verify().is_terminal()
    in_time = Person(seconds=1.0).play("aeroliths(first_player=0)", HUMAN, "greedy", turn_time=2.0)
    assert in_time.timed_out is None


def test_leaving_is_not_an_error():
    for word in ("quit", EOFError):
        with pytest.raises(LeftGame):
            Person("0@a1", word).play("aeroliths(first_player=0)", HUMAN, "greedy")


def test_the_form_asks_for_every_option():
    answers = ["", "4", "yes", "true", "", "", "", "", "", "true"]
    person = Person(*answers, ".")
    game = ask_game(person.terminal)
    assert str(game) == "aeroliths(size=4,same=true,chaos=true)"
    assert person.prompts[0].startswith("game (aeroliths")
    assert person.prompts[0].endswith(") [aeroliths]: ")
    assert person.prompts[1] == "size: cells a side of the board; allowed: 3 or 4 or 5 [3]: "
    assert "same = 'yes' is not allowed; allowed: false or true" in person.text


def test_the_form_says_which_options_do_not_go_together():
    person = Person("aeroliths", "", "", "", "", "", "", "true", "true", ".", "5", ".")
    assert str(ask_game(person.terminal)) == "aeroliths(size=5)"
    assert "order = true and chaos = true exclude each other" in person.text


def test_the_form_asks_for_seats_and_timer():
    person = Person("", ".", "nobody", "", "greedy", "-3", "2.5")
    table = sit_down(person.terminal, None, None, seed=1)
    assert table.seats == [HUMAN, "greedy"]
    assert table.turn_time == 2.5
    assert "unknown agent 'nobody'" in person.text
    assert "turn_time = '-3' is not allowed" in person.text
    person.table = table
    assert table.play().verify().is_terminal()


def test_what_is_given_is_not_asked():
    person = Person()
    table = sit_down(person.terminal, "aeroliths(size=4)", ["greedy", HUMAN], seed=1)
    assert person.prompts == []
    assert table.seats == ["greedy", HUMAN]
    assert sit_down(person.terminal, None, ["greedy", HUMAN], seed=1, ask=False).game.name == "aeroliths"
    with pytest.raises(ConfigError, match="aeroliths has 2 players, but 3 were named"):
        sit_down(person.terminal, "aeroliths", [HUMAN] * 3, seed=1)
    with pytest.raises(SpecError, match="unknown agent 'nobody'"):
        sit_down(person.terminal, "aeroliths", [HUMAN, "nobody"], seed=1)
