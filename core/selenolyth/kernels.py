"""The Selenolyth: the state and the rules.

The board is one set of 36 bits in absolute cells; nothing else of it matters to the rules, so a pull, a square and the
points of a Shard are masks and shifts. A turn of a random playout takes about 70 ns: a quarter goes into the list of
legal actions, nearly a half into the two random draws and the die's six outcomes, and the rest into the turn itself (a
pull is 7 ns of it). Who owns a stone on the board, and of which kind it is, matter to pictures and texts alone: the
state logs each stone as it comes to the board, one store a turn, and text.py replays the log.
"""

import numpy as np

from trilithon.core.jit import kernel
from trilithon.core.verbs import CHANCE, TERMINAL, record_dtype

WIDTH, CELLS, STONES = 6, 36, 3  # three kinds of stones
SELENOLYTH, DIOX, ORTHOS, UNKNOWN = 0, 1, 2, 3  # UNKNOWN: only in the log, for a board that was given without kinds
PUT, PULLING, GIVEN = 0, 1, 2  # how a stone came to the board: without and with a pull, or by the setup
WILL, RICOCHET, NUM_ACTIONS = 18, 36, 72  # where the actions of each kind begin; rolls begin at 0
PLAYING, HEX, ECLIPSE, SQUARE, LUMINANCE, LORD, TRUNCATED = range(7)  # outcomes

FIELDS = [
    ("current_player", np.int8),  # 0, 1, CHANCE or TERMINAL
    ("move_number", np.int16),  # actions so far, chance included: at most three a turn
    ("selenolyth", np.uint8),  # this game's own name, see verbs.provide
    ("mover", np.int8),  # whose turn it is, also while the die is rolled
    ("first_player", np.int8),
    ("pending", np.int8),  # kind of the stone that was rolled and is not placed yet, -1 when there is none
    ("pending_file", np.int8),  # its file as the mover sees it, -1 when there is none
    ("outcome", np.uint8),  # PLAYING, or how the game ended
    ("turns", np.uint16),  # turns completed, skipped ones included
    ("max_turns", np.uint16),  # from here to start: options
    ("eclipse_value", np.uint8),
    ("luminance_goal", np.uint8),
    ("start", np.uint8, STONES),  # [kind]: stones of a player at the start
    ("reserve", np.uint8, (2, STONES)),  # [player, kind]: stones not on the board
    ("luminance", np.uint8, 2),  # [player]
    ("occupied", np.uint64),  # bit c: a stone lies on absolute cell c
    ("log", np.uint16, CELLS),  # [n]: the n-th stone that came to the board, see log_entry; unused ones are 0
]
STATE = record_dtype(FIELDS)

STEPS = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))  # directions: ranks up, files right
FULL = (1 << CELLS) - 1

BESIDE = np.zeros((CELLS, 8), np.int64)  # [cell, direction]: the neighbour that way, as a set
NEIGHBOURS = np.full((CELLS, 8), -1, np.int8)  # [cell, direction]: the same as a number
DIAGONALS = np.zeros((CELLS, 2), np.int64)  # [cell]: the cells of its two diagonals, itself included
for _cell in range(CELLS):
    for _direction, (_up, _right) in enumerate(STEPS):
        _rank, _file = _cell // WIDTH + _up, _cell % WIDTH + _right
        if 0 <= _rank < WIDTH and 0 <= _file < WIDTH:
            NEIGHBOURS[_cell, _direction] = _rank * WIDTH + _file
            BESIDE[_cell, _direction] = 1 << (_rank * WIDTH + _file)
    for _other in range(CELLS):
        _up, _right = _other // WIDTH - _cell // WIDTH, _other % WIDTH - _cell % WIDTH
        DIAGONALS[_cell, 0] |= int(_up == _right) << _other
        DIAGONALS[_cell, 1] |= int(_up == -_right) << _other
# [kind, cell]: the neighbours that a Shard counts; of a Selenolyth none.
COUNTED = np.zeros((STONES, CELLS), np.int64)
COUNTED[DIOX] = BESIDE[:, 1::2].sum(axis=1)
COUNTED[ORTHOS] = BESIDE[:, 0::2].sum(axis=1)

FILES = np.array([sum(1 << (_rank * WIDTH + _file) for _rank in range(WIDTH)) for _file in range(WIDTH)], np.int64)
LEFT_CORNERS = int(FILES[:4].sum())  # where the left end of three stones in a rank can be
VIEW = np.array([np.arange(CELLS), CELLS - 1 - np.arange(CELLS)], np.int8)  # [player, own cell]: absolute, and back

# A line of the board is a set of six: the cells of a rank, of a file, or of a diagonal by their files.
TURNED = np.array([sum((_set >> _i & 1) << (5 - _i) for _i in range(6)) for _set in range(64)], np.int64)
COUNTS = np.array([_set.bit_count() for _set in range(64)], np.int64)
MEMBERS = np.zeros((64, 6), np.int32)  # [set]: what it holds, ascending
MOVES = np.zeros((WIDTH, 64), np.int64)  # [place, set]: what a pull towards that place changes on the line
for _set in range(64):
    MEMBERS[_set, : COUNTS[_set]] = [_i for _i in range(6) if _set >> _i & 1]
    for _place in range(6):
        for _side in (-1, 1):
            _seen = [_i for _i in range(_place + _side, 6 if _side > 0 else -1, _side) if _set >> _i & 1]
            if _seen:
                MOVES[_place, _set] ^= 1 << _seen[0] ^ 1 << (_place + _side)
UPRIGHT = np.array([sum((_set >> _i & 1) << (6 * _i) for _i in range(6)) for _set in range(64)], np.int64)  # on file a
ALL_RANKS = int(UPRIGHT[63])  # times a rank: that rank six times; times a diagonal: all its files in the top rank
GATHER = sum(1 << (5 * _i) for _i in range(1, 7))  # times what stands on file a: the same as a rank, 30 bits up

# ------------------------------------------------------------------------------------------------------------- boards


@kernel
def count(cells):
    """Return how many cells a set has (compiled into the processor's own instruction)."""
    n = 0
    while cells:
        cells &= cells - 1
        n += 1
    return n


@kernel
def has_square(occupied):
    """Whether some 3x3 square is full of stones."""
    threes = occupied & (occupied >> 1) & (occupied >> 2) & LEFT_CORNERS
    return (threes & (threes >> 6) & (threes >> 12)) != 0


@kernel
def pull(occupied, cell):
    """Return the set of stones after a Selenolyth on `cell` has drawn in the nearest stone of each direction.

    Each of the four lines through the cell is gathered into six bits, and what changes is spread out again.
    """
    rank, file = np.int64(np.uint32(cell) // np.uint32(6)), np.int64(np.uint32(cell) % np.uint32(6))
    along = MOVES[file, (occupied >> (6 * rank)) & 63] << (6 * rank)
    upright = UPRIGHT[MOVES[rank, ((((occupied >> file) & ALL_RANKS) * GATHER) >> 30) & 63]] << file
    rising, falling = DIAGONALS[cell, 0], DIAGONALS[cell, 1]
    up = (MOVES[file, (((occupied & rising) * ALL_RANKS) >> 30) & 63] * ALL_RANKS) & rising
    down = (MOVES[file, (((occupied & falling) * ALL_RANKS) >> 30) & 63] * ALL_RANKS) & falling
    return occupied ^ along ^ upright ^ up ^ down


@kernel
def free_files(state):
    """Return two sets of files in the mover's view: those with a free cell, and those with exactly one."""
    free = FULL & ~np.int64(state.occupied)
    low, high = free & 0o777777, free >> 18
    some, several = low | high, low & high  # rank r or r + 3; both
    a, b, c = some & 63, (some >> 6) & 63, some >> 12
    several = ((several | (several >> 6) | (several >> 12)) & 63) | (a & b) | ((a | b) & c)
    files = a | b | c
    if state.mover:
        return TURNED[files], TURNED[files & ~several]
    return files, files & ~several


@kernel
def log_entry(cell, kind, owner, how):
    """Return a log entry: cell in bits 0-5, kind in 6-7, owner in bit 8, how it came (PUT, PULLING, GIVEN) in 9-10."""
    return np.uint16(cell | (kind << 6) | (owner << 8) | (how << 9))


# ------------------------------------------------------------------------------------------------------------ actions


@kernel
def legal_actions(state, out):
    """Roll: ``stone * 6 + file``; Will: ``18 + stone * 6 + file``; ricochet: ``36 + cell``, in the mover's view."""
    n = 0
    if state.current_player < 0:
        return n
    mover = np.int64(state.mover)
    if state.pending >= 0:
        free = FULL & ~np.int64(state.occupied)
        for rank in range(WIDTH):
            row = TURNED[(free >> (30 - 6 * rank)) & 63] if mover else (free >> (6 * rank)) & 63
            n += _write(out, n, RICOCHET + 6 * rank, row)
        return n
    files, single = free_files(state)
    for kind in range(STONES):
        if state.reserve[mover, kind]:
            n += _write(out, n, 6 * kind, files)
    if single:
        for kind in range(STONES):
            if state.reserve[mover, kind]:
                n += _write(out, n, WILL + 6 * kind, single)
    return n


@kernel
def _write(out, n, base, members):
    """Write ``base + i`` for every i in a set of six to ``out[n:]``, always six entries; return how many count."""
    for i in range(6):
        out[n + i] = base + MEMBERS[members, i]
    return COUNTS[members]


@kernel
def chance_outcomes(state, out, probabilities):
    """The die: outcome d is rank d + 1 as the mover counts."""
    if state.current_player != CHANCE:
        return 0
    for face in range(6):
        out[face] = face
        probabilities[face] = 1.0 / 6.0
    return 6


@kernel
def apply_action(state, action):
    """One step: a stone is chosen for a file and rolled, put there by Will, or put anywhere after a ricochet."""
    state.move_number += 1
    mover = np.int64(state.mover)
    if state.current_player == CHANCE:
        _land(state, mover, np.int64(VIEW[mover, action * WIDTH + state.pending_file]))
    elif action >= RICOCHET:
        _put(state, mover, np.int64(VIEW[mover, action - RICOCHET]), SELENOLYTH, PUT)
        _end_turn(state, mover, True)
    else:
        choice = np.uint32(action if action < WILL else action - WILL)
        kind, file = np.int64(choice // np.uint32(6)), np.int64(choice % np.uint32(6))
        state.reserve[mover, kind] -= np.uint8(1)
        if action < WILL:
            state.pending, state.pending_file = kind, file
            state.current_player = CHANCE
        else:
            free = FILES[WIDTH - 1 - file if mover else file] & ~np.int64(state.occupied)
            _take_effect(state, mover, count(free - 1), kind)  # of one bit: its number


@kernel
def _land(state, mover, cell):
    """The die has named a cell: the pending stone goes there, or ricochets, or goes back and the turn is lost."""
    kind = np.int64(state.pending)
    if not (np.int64(state.occupied) >> cell) & 1:
        _take_effect(state, mover, cell, kind)
    elif kind == SELENOLYTH:
        state.current_player = mover
    else:
        state.reserve[mover, kind] += np.uint8(1)
        _end_turn(state, mover, False)


@kernel
def _put(state, mover, cell, kind, how):
    """Put a stone on a free cell and log it."""
    occupied = np.int64(state.occupied)
    state.log[count(occupied)] = log_entry(cell, kind, mover, how)
    state.occupied = np.uint64(occupied | (np.int64(1) << cell))


@kernel
def _take_effect(state, mover, cell, kind):
    """Put a stone on a free cell: a Selenolyth pulls, a Shard earns a point for each stone it counts."""
    _put(state, mover, cell, kind, PULLING if kind == SELENOLYTH else PUT)
    if kind == SELENOLYTH:
        state.occupied = np.uint64(pull(np.int64(state.occupied), cell))
    else:
        state.luminance[mover] += np.uint8(count(np.int64(state.occupied) & COUNTED[kind, cell]))
    _end_turn(state, mover, False)


@kernel
def _end_turn(state, mover, ricochet):
    """Count the turn and look at the endings in the order of the rules; else the other player is to move."""
    state.pending = -1
    state.pending_file = -1
    state.turns += np.uint16(1)
    bright = state.luminance[mover] >= state.luminance_goal
    outcome = PLAYING
    if has_square(np.int64(state.occupied)):
        if ricochet:
            outcome = HEX
        else:
            outcome = ECLIPSE if bright else SQUARE
    elif bright:
        outcome = LUMINANCE
    elif not (state.reserve[mover, 0] | state.reserve[mover, 1] | state.reserve[mover, 2]):
        outcome = LORD
    elif state.turns >= state.max_turns:
        outcome = TRUNCATED
    if outcome == PLAYING:
        state.mover = 1 - mover
        state.current_player = 1 - mover
    else:
        state.outcome = outcome
        state.current_player = TERMINAL


# ---------------------------------------------------------------------------------------------------------------- end


@kernel
def returns(state, out):
    """+1 and -1, times `eclipse_value` for a Lunar Eclipse; 0 and 0 where `max_turns` cut the game off."""
    value = 0.0
    if state.outcome == HEX:
        value = -1.0
    elif state.outcome == ECLIPSE:
        value = np.float64(state.eclipse_value)
    elif state.outcome in (SQUARE, LUMINANCE, LORD):
        value = 1.0
    # The last turn was the mover's.
    mover = np.int64(state.mover)
    out[mover] = value
    out[1 - mover] = -value


@kernel
def heuristic(state, out):
    """Level before the end; then the returns within [-1, 1]."""
    returns(state, out)
    for player in range(2):
        out[player] = min(max(out[player], -1.0), 1.0)
