import type { TokenLog } from './read-logs.ts';

/** Parties of recent transfers, as 20 bytes of hex: some of them take part in nearly every block. */
export interface Beacons {
  readonly from: ReadonlySet<string>;
  readonly to: ReadonlySet<string>;
}

type Role = keyof Beacons;
type Party = Pick<TokenLog, 'height' | 'tokenHex' | 'fromHex' | 'toHex'>;

/** About three minutes of the main network. */
const BLOCKS_KEPT = 64;
const BLOCKS_MIN = 16;
/** Share of blocks without any beacon, which are read whole: so many beacons are chosen, if there are. */
const WITHOUT_WANTED = 1 / 256;
/** With more such blocks, all transfers are asked for, which takes fewer bytes. */
const WITHOUT_MAX = 1 / 64;
/** Of each role, shared by the tokens. Together with the recipients they must fit into a filter. */
export const BEACONS_MAX = 40;

export type BeaconChoice = ReturnType<typeof createBeaconChoice>;

/**
 * A beacon is an address that pays or is paid in nearly every block, as exchanges are. Each filter contains the beacons,
 * so that its answer shows a log of every block that the node has indexed. java-tron indexes logs only while its JSON-RPC
 * interface is on; of other blocks it returns none, without an error.
 */
export function createBeaconChoice(tokens: readonly string[]) {
  const kept = new Map<number, readonly Party[]>();
  let chosen: Beacons | undefined;

  function choose(role: Role, token: string): readonly string[] | undefined {
    const presences = new Map<string, number>();
    for (const transfers of kept.values()) {
      const parties = transfers.flatMap((one) =>
        one.tokenHex === token ? [role === 'to' ? one.toHex : one.fromHex] : [],
      );
      for (const party of new Set(parties)) presences.set(party, (presences.get(party) ?? 0) + 1);
    }
    const byPresence = [...presences].toSorted(([, a], [, b]) => b - a);
    const addresses: string[] = [];
    let without = 1;
    for (const [address, presence] of byPresence.slice(0, Math.floor(BEACONS_MAX / tokens.length))) {
      if (without <= WITHOUT_WANTED) break;
      addresses.push(address);
      without *= 1 - presence / (kept.size + 1);
    }
    return without > WITHOUT_MAX ? undefined : addresses;
  }

  function chooseAll(role: Role): ReadonlySet<string> | undefined {
    const ofTokens = tokens.map((token) => choose(role, token));
    return ofTokens.includes(undefined) ? undefined : new Set(ofTokens.flatMap((one) => one ?? []));
  }

  return {
    /** Undefined until enough is learned: all transfers must be asked for. */
    chosen: () => chosen,
    /** All transfers of these blocks, as two sources returned them. */
    learn(heights: readonly number[], transfers: readonly Party[]): void {
      for (const height of heights) {
        kept.delete(height);
        kept.set(
          height,
          transfers.filter((one) => one.height === height),
        );
      }
      for (const height of kept.keys()) if (kept.size > BLOCKS_KEPT) kept.delete(height);
      const [from, to] = kept.size < BLOCKS_MIN ? [] : [chooseAll('from'), chooseAll('to')];
      chosen = from && to && { from, to };
    },
    /** No beacon took part in a block, so others may be better. */
    doubt: (): void => void (chosen = undefined),
  };
}
