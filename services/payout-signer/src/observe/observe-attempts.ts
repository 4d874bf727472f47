import type { Gathering } from '@opentill/chain/expiring-sender';
import { isReaderError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { inFlight, type ExpiringView, type OpenAttempt } from '../expiring/store/attempt-facts.ts';
import type { SignedPayment, TakenInAttempts } from '../expiring/store/attempt-store.ts';
import type { Telling } from './telling.ts';
import type { WalletKey } from '../payouts/payout-facts.ts';

/** What happens where transactions end by time, by name. */
export interface ObserveAttempts {
  attemptsLooked(key: WalletKey, view: ExpiringView): void;
  /** What that says of a wallet alone, whichever: of what was told of as unrecorded, all that a block holds or that died is over. */
  stillInFlight(key: WalletKey, view: Pick<ExpiringView, 'attempts'>): void;
  attemptsTakenIn(key: WalletKey, taken: TakenInAttempts): void;
  attemptsSigned(key: WalletKey, payments: readonly SignedPayment[]): void;
  /** Proven to land nowhere, each of them; their payouts may be signed anew. */
  buried(key: WalletKey, attempts: readonly OpenAttempt[]): void;
  /** Nobody could say of these, whose end is past, that no block holds them: their payouts wait for it. */
  unproven(key: WalletKey, attempts: readonly OpenAttempt[], error: unknown): void;
  /** A block was found to hold these, and the scanner has not said so. */
  unrecorded(key: WalletKey, txHashes: readonly TxHash[]): void;
  /** The wallet is driven here no more: nothing would end its alarms. */
  ended(key: WalletKey): void;
  /** The wallet's own money is moved to where it pays from. */
  gathering(key: WalletKey, gathering: Gathering, outcome: string): void;
}

export function observeAttempts({ logger, meters, alarms }: Telling): ObserveAttempts {
  const { raise, stillInFlight, forget } = createLastingAlarms(alarms);
  return {
    attemptsLooked(key, view) {
      const { chain } = key;
      const flying = inFlight(view.attempts);
      const signedAt = flying[0]?.signedAt.getTime();
      const seconds = signedAt === undefined ? 0 : (view.now.getTime() - signedAt) / 1_000;
      meters.inFlight.set({ chain }, flying.length);
      meters.waiting.set({ chain }, view.requested.length + view.unsigned.length);
      meters.oldestUnmined.set({ chain }, Math.max(0, seconds));
      alarms.set('halted', key, view.halted ?? undefined);
      stillInFlight(key, view);
    },
    stillInFlight,
    attemptsTakenIn({ chain }, { settled, reopened, vetoedOrderPks }) {
      meters.final.inc({ chain }, settled.length);
      if (reopened.length > 0)
        logger.warn('final transactions were reorganised away', { chain, txHashes: reopened });
      for (const orderPk of vetoedOrderPks) logger.info('payout vetoed', { chain, orderPk });
    },
    attemptsSigned({ chain }, payments) {
      meters.signed.inc({ chain, purpose: 'PAYOUT' }, payments.length);
      for (const { orderPk, signed } of payments) {
        const { txHash, validity } = signed;
        logger.info('payout signed', { chain, orderPk, txHash, expiresMs: validity.expiresMs });
      }
    },
    buried({ chain }, attempts) {
      meters.dead.inc({ chain }, attempts.length);
      for (const { txHash, orderPk } of attempts)
        logger.warn('a payout’s transaction expired and is in no block: it may be signed anew', {
          chain,
          orderPk,
          txHash,
        });
    },
    unproven(key, attempts, error) {
      const { chain } = key;
      // A node that is away or behind is another alarm.
      if (isReaderError(error, 'INCONSISTENT_ANSWER'))
        raise(
          'unproven',
          key,
          attempts.map(({ txHash }) => txHash),
        );
      logger.warn('not proven that expired transactions of payouts are in no block', {
        chain,
        orderPks: attempts.map(({ orderPk }) => orderPk),
        txHashes: attempts.map(({ txHash }) => txHash),
        error,
      });
    },
    gathering({ chain }, { txHash, contract, amountBaseUnits }, outcome) {
      meters.signed.inc({ chain, purpose: 'GATHER' });
      logger.info('coins of the wallet are gathered', { chain, txHash, contract, amountBaseUnits, outcome });
    },
    unrecorded: (key, txHashes) => raise('unrecorded', key, txHashes),
    ended(key) {
      forget(key);
      alarms.clear(key);
    },
  };
}

/** Alarms about transactions: each lasts until a block holds all that it names, or they are dead. */
function createLastingAlarms(alarms: Telling['alarms']) {
  const lasting = { unrecorded: new Map<string, Set<TxHash>>(), unproven: new Map<string, Set<TxHash>>() };
  const kinds = ['unrecorded', 'unproven'] as const;
  const idOf = ({ chain, wallet }: WalletKey): string => `${chain} ${wallet}`;
  return {
    raise(kind: (typeof kinds)[number], key: WalletKey, txHashes: readonly TxHash[]): void {
      lasting[kind].set(idOf(key), new Set([...(lasting[kind].get(idOf(key)) ?? []), ...txHashes]));
      alarms.set(kind, key, txHashes.join(', '));
    },
    stillInFlight(key: WalletKey, { attempts }: Pick<ExpiringView, 'attempts'>): void {
      for (const kind of kinds) {
        const known = lasting[kind].get(idOf(key));
        if (known !== undefined && inFlight(attempts).some(({ txHash }) => known.has(txHash))) continue;
        lasting[kind].delete(idOf(key));
        alarms.set(kind, key, undefined);
      }
    },
    forget: (key: WalletKey): void => kinds.forEach((kind) => lasting[kind].delete(idOf(key))),
  };
}
