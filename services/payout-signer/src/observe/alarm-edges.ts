import type { Logger } from '@opentill/runtime/logger';
import type { WalletKey } from '../payouts/payout-facts.ts';
import type { SignerMeters } from './signer-meters.ts';

/** Label values of the metric `opentill_signer_payout_alarm_bool`. */
export const WALLET_ALARM_KINDS = [
  'halted',
  /** The scanner halted the chain, or its nodes failed the start-up checks. Payouts wait. */
  'chain-halted',
  'chain-ahead',
  /** No new transaction is signed: limits per time would follow a wrong clock. */
  'clocks-differ',
  /** One source keeps claiming that its pool holds unknown transactions, and is no longer believed. */
  'pool-disbelieved',
  'nonce-gap',
  /** The lowest transaction in flight waits at the fee cap, and blocks all behind it. */
  'fees-at-cap',
  /** The row of a signed transaction differs from its bytes: a third party wrote to the database. */
  'forged',
  /** A block holds an own transaction that the scanner has not recorded. */
  'unrecorded',
  /** Sources differ about an overdue transaction, or do not prove their blocks. Its payout waits. */
  'unproven',
  /** Block producers seem to sign with new keys, which count in proofs after a day. Or sources give wrong answers. */
  'new-block-keys',
  'low-gas',
  'low-balance',
  'above-float',
] as const;

export type AlarmKind = (typeof WALLET_ALARM_KINDS)[number];

export interface AlarmEdges {
  /** `detail` undefined: the alarm does not hold. */
  set(kind: AlarmKind, key: WalletKey, detail: string | undefined): void;
  clear(key: WalletKey): void;
}

export function createAlarmEdges(
  logger: Pick<Logger, 'warn' | 'info'>,
  meters: Pick<SignerMeters, 'alarm'>,
): AlarmEdges {
  const raised = new Map<string, { readonly kind: AlarmKind; readonly key: WalletKey }>();
  // The metric has no wallet label: it is 1 while the alarm holds for any wallet of the chain.
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
