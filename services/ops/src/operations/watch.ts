import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import type { Handlers } from '../handlers.ts';
import { keyAfter, PAGE_SIZE, pageOf } from '../page.ts';
import { notFound, opsError } from '../ops-error.ts';
import { time } from '../format.ts';
import { openNoncesOf } from '../store/payouts.ts';
import {
  balancesOf,
  closeIncident,
  findHalts,
  findHolds,
  findHotWallet,
  findHotWallets,
  findIncidents,
  insertHalt,
  insertHold,
  readHalt,
  readHold,
  readIncident,
  releaseHalt,
  releaseHold,
} from '../store/watch.ts';
import type { OpsDeps } from './ops-deps.ts';
import { showNonce } from './show-payout.ts';
import { showHalt, showHold, showIncident } from './show-watch.ts';

type WatchOperation =
  | 'listHotWallets'
  | 'listHalts'
  | 'setHalt'
  | 'releaseHalt'
  | 'listHolds'
  | 'setHold'
  | 'releaseHold'
  | 'listIncidents'
  | 'closeIncident';

const OPEN_NONCES_SHOWN = 100;

export function watchHandlers(deps: OpsDeps): Pick<Handlers, WatchOperation> {
  return { ...walletHandlers(deps), ...haltHandlers(deps), ...holdHandlers(deps), ...incidentHandlers(deps) };
}

function walletHandlers({ db, assets }: OpsDeps): Pick<Handlers, 'listHotWallets'> {
  return {
    async listHotWallets({ limit = PAGE_SIZE, cursor }) {
      const rows = await findHotWallets(db, keyAfter(cursor, 'name'), limit + 1);
      const balances = await balancesOf(
        db,
        rows.map((row) => row.address),
      );
      const shown = await Promise.all(
        rows.map(async (row) => ({ ...row, nonces: await openNoncesOf(db, row.address, OPEN_NONCES_SHOWN) })),
      );
      return pageOf(
        shown,
        limit,
        (row) => row.key,
        ({ family, address, label, addedAt, nonces }) => ({
          family,
          address,
          label,
          addedAt: time(addedAt),
          balances: balances
            .filter(({ wallet }) => wallet === address)
            .map(({ chain, symbol, contractAddress, amount, blockHeight, seenAt }) => ({
              chain,
              symbol,
              contractAddress,
              amountBaseUnits: amount.toString(),
              amount: assets.display(chain, symbol, amount),
              blockHeight,
              seenAt: time(seenAt),
            })),
          openNonces: nonces.map(showNonce),
        }),
      );
    },
  };
}

function haltHandlers({
  db,
  assets,
  clock,
  newId,
}: OpsDeps): Pick<Handlers, 'listHalts' | 'setHalt' | 'releaseHalt'> {
  return {
    async listHalts({ limit = PAGE_SIZE, cursor, ...filter }) {
      const rows = await findHalts(db, filter, keyAfter(cursor, 'uuid'), limit + 1);
      return pageOf(rows, limit, (row) => row.haltId, showHalt);
    },
    async setHalt({ tx, operator }, { chain, wallet, reason }) {
      const { family } = assets.requireNetwork(chain);
      const halted = wallet === undefined ? null : await findHotWallet(tx, family, wallet);
      // A halt for another address would stop no payout, but appear to.
      if (halted === undefined)
        throw opsError('UNPROCESSABLE', `${wallet} is not a hot wallet of the family ${family}.`);
      const halt = {
        haltId: newId(),
        chain,
        wallet: halted,
        reason,
        setBy: operator.operatorId,
        setAt: clock.now(),
      };
      return { answer: showHalt(await insertHalt(tx, halt)), subject: halt.haltId };
    },
    async releaseHalt({ tx, operator }, { haltId, reason }) {
      const halt = await readHalt(tx, haltId);
      if (halt === undefined) throw notFound(`halt ${haltId}`);
      const released = await releaseHalt(tx, haltId, { at: clock.now(), by: operator.operatorId, reason });
      if (released === undefined) throw opsError('STATE_CONFLICT', 'This halt is already released.');
      return { answer: showHalt(released), details: { kind: halt.kind, chain: halt.chain } };
    },
  };
}

function holdHandlers({
  db,
  assets,
  clock,
  newId,
}: OpsDeps): Pick<Handlers, 'listHolds' | 'setHold' | 'releaseHold'> {
  return {
    async listHolds({ limit = PAGE_SIZE, cursor, ...filter }) {
      const rows = await findHolds(db, filter, keyAfter(cursor, 'uuid'), limit + 1);
      return pageOf(rows, limit, (row) => row.holdId, showHold);
    },
    async setHold({ tx, operator }, { chain, symbol, reason }) {
      const token = assets.requireToken(chain, symbol);
      const hold = {
        holdId: newId(),
        chain,
        symbol: token.symbol,
        reason,
        setBy: operator.operatorId,
        setAt: clock.now(),
      };
      return { answer: showHold(await insertHold(tx, hold)), subject: hold.holdId };
    },
    async releaseHold({ tx, operator }, { holdId, reason }) {
      const hold = await readHold(tx, holdId);
      if (hold === undefined) throw notFound(`hold ${holdId}`);
      const released = await releaseHold(tx, holdId, { at: clock.now(), by: operator.operatorId, reason });
      if (released === undefined) throw opsError('STATE_CONFLICT', 'This hold is already released.');
      return { answer: showHold(released), details: { chain: hold.chain, symbol: hold.symbol } };
    },
  };
}

function incidentHandlers({ db, clock }: OpsDeps): Pick<Handlers, 'listIncidents' | 'closeIncident'> {
  return {
    async listIncidents({ limit = PAGE_SIZE, cursor, ...filter }) {
      const rows = await findIncidents(db, filter, keyAfter(cursor, 'uuid'), limit + 1);
      return pageOf(
        rows,
        limit,
        (row): string => row.incidentId,
        (row): OpsAnswer<'listIncidents'> => showIncident(row),
      );
    },
    async closeIncident({ tx, operator }, { incidentId, reason }) {
      const incident = await readIncident(tx, incidentId);
      if (incident === undefined) throw notFound(`incident ${incidentId}`);
      if (incident.kind === 'FOREIGN_NONCE' || incident.kind === 'RESTORED') {
        throw opsError(
          'STATE_CONFLICT',
          'This incident closes with its halt: an ADMIN has to release the halt.',
        );
      }
      if (operator.role === 'SUPPORT' && incident.kind !== 'CREDITED_TRANSFER_ORPHANED') {
        throw opsError('FORBIDDEN', 'This incident concerns payouts: FINANCE or ADMIN has to close it.');
      }
      const closed = await closeIncident(tx, incidentId, {
        at: clock.now(),
        by: operator.operatorId,
        reason,
      });
      if (closed === undefined) throw opsError('STATE_CONFLICT', 'This incident is already closed.');
      return { answer: showIncident(closed), details: { kind: incident.kind } };
    },
  };
}
