import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { TxHash } from '@opentill/chain/transfer';
import type { FoundPayment } from '@opentill/chain/wallet-sender';
import type { Lease } from '@opentill/db/lease';
import type {
  Adoption,
  KnownBlock,
  PaidByDecision,
  PayoutsView,
  WalletKey,
} from '../payouts/payout-facts.ts';
import type { Observe } from '../observe/observe.ts';
import { checkIntent } from '../policy/check-intent.ts';
import type { IntentRules } from '../policy/intent-rules.ts';

export interface DecisionContext<Found> {
  readonly key: WalletKey;
  readonly rules: IntentRules;
  readonly sender: {
    readPayment(txHash: TxHash, block: KnownBlock, options: ReadOptions): Promise<Found | undefined>;
  };
  readonly store: {
    adopt(lease: Lease, decision: PaidByDecision, found: Found): Promise<Adoption>;
    dismiss(lease: Lease, decisionId: string, why: string): Promise<void>;
  };
  readonly lease: Lease;
  readonly observe: Pick<Observe, 'decided'>;
  readonly onCommitted: () => void;
  readonly signal: AbortSignal;
}

/** Also while the wallet is halted. Two sources must show the payment of exactly this payout in a verified block. */
export async function settleDecisions<Found extends Pick<FoundPayment, 'intent' | 'fate'>>(
  context: DecisionContext<Found>,
  view: { readonly cursor: { readonly verified: KnownBlock } | null } & Pick<PayoutsView, 'paidBy'>,
): Promise<void> {
  const { sender, store, lease, observe, key, signal } = context;
  if (view.cursor === null) return;
  for (const decision of view.paidBy) {
    const { decisionId, payout, txHash } = decision;
    const found = await sender.readPayment(txHash, view.cursor.verified, { signal });
    const why = whyNot(context, decision, found);
    if (why !== undefined) await store.dismiss(lease, decisionId, why);
    const adoption =
      why === undefined && found !== undefined ? await store.adopt(lease, decision, found) : undefined;
    if (adoption?.kind === 'LATER') continue;
    const reason = why ?? (adoption?.kind === 'NOT_POSSIBLE' ? adoption.why : undefined);
    observe.decided(key, payout.orderPk, txHash, reason);
    if (reason === undefined) context.onCommitted();
  }
}

function whyNot(
  { rules }: { readonly rules: IntentRules },
  { payout }: PaidByDecision,
  found: Pick<FoundPayment, 'intent' | 'fate'> | undefined,
): string | undefined {
  if (found === undefined) return 'no verified block holds a payment with this hash';
  const checked = checkIntent(payout, rules);
  if (checked.kind !== 'INTENT') return 'this configuration cannot pay the order';
  const { from, contract, to, amountBaseUnits, resource } = checked.intent;
  const { intent, fate } = found;
  if (intent.resource !== resource)
    return intent.resource === undefined ? 'it moved money' : 'it lent energy, or took it back';
  if (intent.from !== from) return `it was paid from ${intent.from}`;
  if (intent.contract !== contract) return `it paid ${intent.contract ?? 'the native coin'}`;
  if (intent.to !== to) return `it was paid to ${intent.to}`;
  if (intent.amountBaseUnits !== amountBaseUnits) return `it paid ${intent.amountBaseUnits} base units`;
  if (!fate.succeeded || fate.deliveredBaseUnits === 0n) return 'it failed, or delivered no amount';
  return undefined;
}
