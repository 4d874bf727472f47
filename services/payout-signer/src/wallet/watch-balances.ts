import type { Address } from '@opentill/chain/address-codec';
import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { contractIn } from '@opentill/chain/parse-contract';
import type { TokenContract } from '@opentill/chain/transfer';
import type { WalletBounds } from '@opentill/contracts/payout-terms';
import type { Lease } from '@opentill/db/lease';
import type { Observe } from '../observe/observe.ts';
import type { BalanceAlarms, BalanceRow, WalletKey, WalletStore } from '../payouts/payout-facts.ts';
import type { AuthorisationRules } from '../policy/policy-port.ts';

export interface BalanceContext {
  readonly key: WalletKey;
  readonly terms: WalletBounds;
  readonly rules: AuthorisationRules;
  readonly sender: {
    balances(
      wallet: Address,
      contracts: readonly (TokenContract | null)[],
      options: ReadOptions,
    ): Promise<{ readonly block: BlockHeader; readonly amounts: ReadonlyMap<TokenContract | null, bigint> }>;
  };
  readonly store: Pick<WalletStore, 'saveBalances'>;
  readonly lease: Lease;
  readonly observe: Pick<Observe, 'balances'>;
  readonly memory: { balancesAtMs: number };
  readonly timing: { readonly balancesEveryMs: number | 'NEVER' };
  readonly monotonicMs: () => number;
  readonly signal: AbortSignal;
}

export async function watchBalances(context: BalanceContext): Promise<void> {
  const nowMs = context.monotonicMs();
  const { sender, store, lease, observe, key, rules, memory, timing, signal } = context;
  if (timing.balancesEveryMs === 'NEVER' || nowMs - memory.balancesAtMs < timing.balancesEveryMs) return;
  memory.balancesAtMs = nowMs;
  const { network, codec } = rules;
  const held = new Map<TokenContract | null, string>([[null, network.nativeSymbol]]);
  for (const { contract, symbol } of network.tokens) {
    const canonical = contract === null ? null : contractIn(codec, contract);
    if (canonical !== undefined) held.set(canonical, symbol);
  }
  const { block, amounts } = await sender.balances(key.wallet, [...held.keys()], { signal });
  const rows = [...held].map(([contract, symbol]): BalanceRow => {
    return { contract, symbol, amount: amounts.get(contract) ?? 0n };
  });
  await store.saveBalances(lease, block, rows);
  observe.balances(key, rows, shortagesOf(context, rows));
}

function shortagesOf({ terms, key, rules }: BalanceContext, rows: readonly BalanceRow[]): BalanceAlarms {
  const native = rows.find(({ contract }) => contract === null)?.amount ?? 0n;
  const { lowGasBaseUnits } = terms;
  const chosen = (isAlarming: (row: BalanceRow) => boolean) =>
    new Map(rows.filter(isAlarming).map(({ symbol, amount }) => [symbol, amount]));
  const floatOf = (symbol: string) => rules.policy.floatOf(key.chain, symbol) ?? terms.float.get(symbol);
  return {
    lowGas: lowGasBaseUnits !== undefined && native < lowGasBaseUnits ? native : undefined,
    low: chosen(({ symbol, amount }) => amount < (terms.lowBalance.get(symbol) ?? 0n)),
    aboveFloat: chosen(({ symbol, amount }) => amount > (floatOf(symbol) ?? amount)),
  };
}
