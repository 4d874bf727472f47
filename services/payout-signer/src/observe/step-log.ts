import { GatewayError } from '@opentill/domain/gateway-error';
import type { Logger } from '@opentill/runtime/logger';
import type { WalletKey } from '../payouts/payout-facts.ts';

export interface StepLog {
  failed(key: WalletKey, step: string, error: unknown): void;
  /** A pass ended. Steps that did not fail in it work again. */
  passed(key: WalletKey): void;
  forget(key: WalletKey): void;
}

type Failures = Map<string, string>;

export function createStepLog(logger: Pick<Logger, 'warn' | 'info'>): StepLog {
  const wallets = new Map<string, { readonly known: Failures; readonly now: Failures }>();
  const idOf = ({ chain, wallet }: WalletKey): string => `${chain} ${wallet}`;
  return {
    failed(key, step, error) {
      const { chain } = key;
      const failures = wallets.get(idOf(key)) ?? { known: new Map(), now: new Map() };
      wallets.set(idOf(key), failures);
      const code = error instanceof GatewayError ? error.code : 'UNKNOWN';
      failures.now.set(step, code);
      if (failures.known.get(step) === code) return;
      failures.known.set(step, code);
      logger.warn('step failed', { chain, step, error });
    },
    passed(key) {
      const failures = wallets.get(idOf(key));
      if (failures === undefined) return;
      for (const step of failures.known.keys())
        if (!failures.now.has(step)) logger.info('step recovered', { chain: key.chain, step });
      if (failures.now.size === 0) wallets.delete(idOf(key));
      else wallets.set(idOf(key), { known: failures.now, now: new Map() });
    },
    forget: (key) => void wallets.delete(idOf(key)),
  };
}
