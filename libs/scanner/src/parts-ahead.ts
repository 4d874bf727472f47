/** How many parts of a way may be read at once, by how full the last ones were. */
export interface PartsAhead {
  /** A part was read that had so many transfers and transactions. */
  note(readings: number): void;
  /** One at least, and not more than `most`. */
  ahead(most: number): number;
}

/** So many transfers and transactions, some 500 bytes each, may be read at once. */
const READINGS_AHEAD = 50_000;
/** Before it is known how full they are. */
const PARTS_AT_FIRST = 2;
/** The fullest of so many counts: a few empty blocks among full ones must not open the gates. */
const PARTS_REMEMBERED = 16;

export function createPartsAhead(): PartsAhead {
  const last: number[] = [];
  return {
    note(readings) {
      last.push(readings);
      if (last.length > PARTS_REMEMBERED) last.shift();
    },
    ahead(most) {
      if (last.length === 0) return Math.min(most, PARTS_AT_FIRST);
      return Math.min(most, Math.max(1, Math.floor(READINGS_AHEAD / Math.max(1, ...last))));
    },
  };
}
