import type { ChainReader } from '@opentill/chain/chain-reader';
import type { ChainCondition } from './alarms.ts';
import type { CheckFailure } from '@opentill/chain/check-failure';
import type { ChainState } from './chain-state.ts';
import type { FinalityView } from './finality-watch.ts';
import type { FateFigures } from './own-fate.ts';
import type { ScanNetwork } from './scan-network.ts';

/** What is known of a chain between two scrapes. */
export interface ChainFigures {
  state: ChainState | undefined;
  openedAtMs: number;
  headMovedAtMs: number;
  verifiedMovedAtMs: number;
  tickedAtMs: number | undefined;
  /** Why the chain stands still, as long as it does. */
  halted: string | undefined;
  /** Message of the halt, where this process found it. */
  haltDetail: string | undefined;
  /** Failed start-up check, while the chain is left out for it. */
  leftOut: CheckFailure | undefined;
  /** When this process began to watch the chain. */
  watchedAtMs: number;
  /** Code of the last failed round. */
  failedBy: string | undefined;
  network: ScanNetwork | undefined;
  sources: ChainReader['sources'];
  /** Time of the newest block that a head named. */
  headTimeSeconds: number | undefined;
  finality: FinalityView | undefined;
  finalityLag: ChainCondition['finalityLag'];
  verifyFailingSinceMs: number | undefined;
  contradictionsInRow: number;
  /** Why an operator has paused the chain, while one has. */
  pauseReason: string | undefined;
  /** Of own transactions; undefined before they were asked for. */
  fates: FateFigures | undefined;
  fatesFailingSinceMs: number | undefined;
  tokenWarnings: ChainCondition['tokenWarnings'];
}

/** Nothing is known yet. */
export function createChainFigures(): ChainFigures {
  return {
    state: undefined,
    openedAtMs: 0,
    headMovedAtMs: 0,
    verifiedMovedAtMs: 0,
    tickedAtMs: undefined,
    halted: undefined,
    haltDetail: undefined,
    leftOut: undefined,
    watchedAtMs: 0,
    failedBy: undefined,
    network: undefined,
    sources: undefined,
    headTimeSeconds: undefined,
    finality: undefined,
    finalityLag: undefined,
    verifyFailingSinceMs: undefined,
    contradictionsInRow: 0,
    pauseReason: undefined,
    fates: undefined,
    fatesFailingSinceMs: undefined,
    tokenWarnings: [],
  };
}
