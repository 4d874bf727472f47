import { isReaderError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import type { WalletKey } from '../payouts/payout-facts.ts';
import type { Observe } from './observe.ts';
import type { ObservabilityDeps } from './observability-deps.ts';

export function observeAttempts({ logger, meters, alarms }: ObservabilityDeps) {
  const { raise, stillInFlight, forget } = createLastingAlarms(alarms);
  return {
    stillInFlight,
    attemptUpdatesApplied({ chain }, { settled, reopened, vetoedOrderPks }) {
      meters.final.inc({ chain }, settled.length);
      if (reopened.length > 0) logger.warn('final transactions reorganised', { chain, txHashes: reopened });
      for (const orderPk of vetoedOrderPks) logger.info('payout vetoed', { chain, orderPk });
    },
    attemptsSigned({ chain }, payments) {
      meters.signed.inc({ chain, purpose: 'PAYOUT' }, payments.length);
      for (const { orderPk, signed } of payments) {
        const { txHash, validity } = signed;
        logger.info('payout signed', { chain, orderPk, txHash, expiresMs: validity.expiresMs });
      }
    },
    provenDead({ chain }, attempts) {
      meters.dead.inc({ chain }, attempts.length);
      for (const { txHash, orderPk } of attempts)
        logger.warn('payout attempt proven dead', {
          chain,
          orderPk,
          txHash,
        });
    },
    unproven(key, attempts, error) {
      const { chain } = key;
      // An unavailable or lagging node raises another alarm.
      if (isReaderError(error, 'INCONSISTENT_ANSWER'))
        raise(
          'unproven',
          key,
          attempts.map(({ txHash }) => txHash),
        );
      logger.warn('expired payout attempts not proven dead', {
        chain,
        orderPks: attempts.map(({ orderPk }) => orderPk),
        txHashes: attempts.map(({ txHash }) => txHash),
        error,
      });
    },
    gathering({ chain }, { txHash, contract, amountBaseUnits }, outcome) {
      meters.signed.inc({ chain, purpose: 'GATHER' });
      logger.info('gathering sent', { chain, txHash, contract, amountBaseUnits, outcome });
    },
    unrecorded: (key, txHashes) => raise('unrecorded', key, txHashes),
    ended(key) {
      forget(key);
      alarms.clear(key);
    },
  } satisfies Partial<Observe>;
}

/** Each alarm lasts until a block holds all transactions that it names, or they are dead. */
function createLastingAlarms(alarms: ObservabilityDeps['alarms']) {
  const lasting = { unrecorded: new Map<string, Set<TxHash>>(), unproven: new Map<string, Set<TxHash>>() };
  const kinds = ['unrecorded', 'unproven'] as const;
  const idOf = ({ chain, wallet }: WalletKey): string => `${chain} ${wallet}`;
  return {
    raise(kind: (typeof kinds)[number], key: WalletKey, txHashes: readonly TxHash[]): void {
      lasting[kind].set(idOf(key), new Set([...(lasting[kind].get(idOf(key)) ?? []), ...txHashes]));
      alarms.set(kind, key, txHashes.join(', '));
    },
    stillInFlight(key: WalletKey, inFlight: readonly TxHash[]): void {
      for (const kind of kinds) {
        const known = lasting[kind].get(idOf(key));
        if (known !== undefined && inFlight.some((txHash) => known.has(txHash))) continue;
        lasting[kind].delete(idOf(key));
        alarms.set(kind, key, undefined);
      }
    },
    forget: (key: WalletKey): void => kinds.forEach((kind) => lasting[kind].delete(idOf(key))),
  };
}
