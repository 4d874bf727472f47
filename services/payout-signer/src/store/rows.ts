import { sql, type RawBuilder } from 'kysely';
import type { WalletKey } from '../wallet-facts.ts';

/** Whose nonces: `n` is wallet_nonce. */
export function ofWallet({ chain, wallet }: WalletKey): RawBuilder<boolean> {
  return sql<boolean>`n.chain = ${chain} and n.wallet = ${wallet}`;
}

/** An open halt of the wallet or of its whole chain. */
export function openHalts({ chain, wallet }: WalletKey): RawBuilder<unknown> {
  return sql`from wallet_halt h where h.chain = ${chain} and (h.wallet is null or h.wallet = ${wallet})
    and h.released_at is null`;
}

/** What a payout that gets its next attempt must not have: a nonce of its own that is on its way, or landed. */
export const hasNoOwnNonce: RawBuilder<boolean> = sql<boolean>`not exists (
  select from wallet_nonce own where own.order_pk = p.order_pk and own.state in ('SIGNED', 'FINAL'))`;
