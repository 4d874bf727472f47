import type { Logger } from '@opentill/runtime/logger';
import type { WalletKey } from '../payouts/payout-facts.ts';
import type { SignerMeters } from './signer-meters.ts';

/** What somebody should look at; label values of the metric `opentill_signer_payout_alarm_bool`. */
export const WALLET_ALARM_KINDS = [
  'halted',
  /** The scanner halted the chain, or its nodes failed the start-up checks: payouts wait. */
  'chain-halted',
  'chain-ahead',
  /** Nothing new is signed: limits per time would go by a clock that is wrong. */
  'clocks-differ',
  /** A source goes on saying that its pool holds more than we sent, alone: it lies or is broken, and is not waited for. */
  'pool-disbelieved',
  'nonce-gap',
  /** The lowest transaction on its way waits, and may offer no more: all behind it wait as well. */
  'fees-at-cap',
  /** The database says of a signed transaction what its bytes do not: somebody wrote there who must not. */
  'forged',
  /** A block holds a transaction of ours that the scanner should have recorded and has not. */
  'unrecorded',
  /** Sources give answers that prove no end of an overdue transaction: they differ, or their blocks are not proven. Its payout waits. */
  'unproven',
  /** Producers of blocks seem to sign with new keys, which count in proofs after a day: true, or sources that lie. */
  'new-block-keys',
  'low-gas',
  'low-balance',
  'above-float',
] as const;

export type AlarmKind = (typeof WALLET_ALARM_KINDS)[number];

/** Keeps which alarms hold, and logs when one begins or ends. */
export interface AlarmEdges {
  /** `detail` undefined: the alarm does not hold. */
  set(kind: AlarmKind, key: WalletKey, detail: string | undefined): void;
  /** Nobody here looks after the wallet any more. */
  clear(key: WalletKey): void;
}

export function createAlarmEdges(
  logger: Pick<Logger, 'warn' | 'info'>,
  meters: Pick<SignerMeters, 'alarm'>,
): AlarmEdges {
  const raised = new Map<string, { readonly kind: AlarmKind; readonly key: WalletKey }>();
  // The metric knows no wallets: it says that the alarm holds while it does of any.
  const measure = (kind: AlarmKind, chain: string): void => {
    const holds = [...raised.values()].some((one) => one.kind === kind && one.key.chain === chain);
    meters.alarm.set({ chain, kind }, holds ? 1 : 0);
  };
  return {
    set(kind, key, detail) {
      const { chain, wallet } = key;
      const id = `${kind} ${chain} ${wallet}`;
      if (detail === undefined) {
        if (raised.delete(id)) logger.info('alarm cleared', { chain, wallet, kind });
      } else if (!raised.has(id)) {
        raised.set(id, { kind, key });
        logger.warn('alarm raised', { chain, wallet, kind, detail });
      }
      measure(kind, chain);
    },
    clear({ chain, wallet }) {
      for (const [id, { kind, key }] of raised) {
        if (key.chain !== chain || key.wallet !== wallet) continue;
        raised.delete(id);
        measure(kind, chain);
      }
    },
  };
}
