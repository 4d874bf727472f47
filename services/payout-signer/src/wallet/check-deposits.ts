import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DepositSigner } from '@opentill/chain/signer-backend';
import type { Db } from '@opentill/db/database';
import type { Family } from '@opentill/domain/chains';
import type { Logger } from '@opentill/runtime/logger';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Metrics } from '@opentill/runtime/metrics';
import {
  readDepositsByIndex,
  readNewDeposits,
  saveForeignDeposit,
  SETTLED_SECONDS,
  type DepositRow,
} from '../store/deposit-rows.ts';

export interface CheckDepositsDeps {
  readonly db: Db;
  readonly keys: Pick<DepositSigner, 'isDeposit'>;
  readonly families: readonly Family[];
  readonly logger: Pick<Logger, 'error' | 'warn'>;
  readonly metrics: Metrics;
  readonly timing?: Partial<CheckDepositsTiming>;
}

export interface CheckDepositsTiming {
  readonly everyMs: number;
  readonly settledSeconds: number;
  /** Between two rounds over all rows. */
  readonly restMs: number;
}

/** 200 rows of the round per second, 0.2 ms of processor time each. New rows without a pause while a page is full. */
const DEFAULT_TIMING: CheckDepositsTiming = {
  everyMs: 1_000,
  settledSeconds: SETTLED_SECONDS,
  restMs: 600_000,
};
const ROWS_AT_ONCE = 200;
/** Derivations before the check yields to the event loop: 3 ms. */
const ROWS_BETWEEN_TURNS = 16;
/** New rows of this period before the start are checked first. The round over all rows covers the others. */
const LOOK_BACK_SECONDS = 600;
/** More rows are only counted, not logged, stored or named in metrics: with another seed all rows are foreign. */
const NAMED_MAX = 100;
const COUNTED_MAX = 10_000;

/**
 * A row that is not derived from the seed raises an alarm: an order's money would go to other keys. New rows are
 * compared within seconds, and all rows in rounds, since a forged row may have any time and any index.
 */
export function startCheckingDeposits(deps: CheckDepositsDeps): Loop {
  const timing = { ...DEFAULT_TIMING, ...deps.timing };
  const report = createReport(deps);
  const check = async (rows: readonly DepositRow[]): Promise<void> => {
    for (const [place, row] of rows.entries()) {
      if (place % ROWS_BETWEEN_TURNS === ROWS_BETWEEN_TURNS - 1) await nextTurn();
      if (!deps.families.includes(row.family)) continue;
      if (!deps.keys.isDeposit(row.family, row.index, row.address)) await report(row);
    }
  };
  let newest: DepositRow | undefined;
  let inRound: DepositRow | undefined;
  let roundFrom = 0;
  return startLoop({
    name: 'check of deposit addresses',
    intervalMs: timing.everyMs,
    maxBackoffMs: Math.max(timing.everyMs, MAX_BACKOFF_MS),
    run: async () => {
      const page = { limit: ROWS_AT_ONCE, lookBackSeconds: LOOK_BACK_SECONDS, ...timing };
      const added = await readNewDeposits(deps.db, newest, page);
      await check(added);
      newest = added.at(-1) ?? newest;
      const more = added.length === ROWS_AT_ONCE ? 'again' : undefined;
      if (performance.now() < roundFrom) return more;
      const rows = await readDepositsByIndex(deps.db, inRound, ROWS_AT_ONCE);
      await check(rows);
      inRound = rows.at(-1);
      if (rows.length < ROWS_AT_ONCE) {
        inRound = undefined;
        roundFrom = performance.now() + timing.restMs;
      }
      return more;
    },
    onError: (error, failuresInRow) => {
      if (failuresInRow === 1 || failuresInRow % 30 === 0)
        deps.logger.warn('deposit addresses not checked', { failuresInRow, error });
    },
  });
}

const MAX_BACKOFF_MS = 5_000;

function createReport({ db, families, logger, metrics }: CheckDepositsDeps) {
  const count = metrics.gauge({
    name: 'opentill_signer_foreign_deposit_addresses_count',
    help: 'Alarm above 0: rows of deposit_address that are not derived from the keystore, up to 10,000',
    labelNames: ['family'],
  });
  const named = metrics.gauge({
    name: 'opentill_signer_foreign_deposit_address_bool',
    help: '1 for each row of deposit_address that is not derived from the keystore; the first hundred',
    labelNames: ['family', 'address', 'derivation_index'],
  });
  const found = new Map<Family, Set<number>>(families.map((family) => [family, new Set()]));
  for (const family of families) count.set({ family }, 0);
  return async (row: DepositRow): Promise<void> => {
    const { family, address, index, orderPk } = row;
    const known = found.get(family);
    if (known === undefined || known.has(index) || known.size >= COUNTED_MAX) return;
    const place = [...found.values()].reduce((sum, { size }) => sum + size, 0);
    if (place < NAMED_MAX) {
      logger.error('alarm raised', { kind: 'foreign-deposit-address', family, address, index, orderPk });
      named.set({ family, address, derivation_index: String(index) }, 1);
      await saveForeignDeposit(db, row);
    }
    known.add(index);
    count.set({ family }, known.size);
  };
}
