import type { Address } from '@opentill/chain/address-codec';

/**
 * Orders are paid from the operator's balance with the seller, so a seller can take at most that. Delivery is what two
 * nodes report for the address, never the seller's answer.
 */

export interface EnergyQuote {
  /** At least the requested amount: sellers have a minimum order. */
  readonly energy: bigint;
  readonly priceSun: bigint;
  /** Price per unit, in sun. The order names it, so that the seller charges no more. */
  readonly unitPriceSun: bigint;
}

export interface EnergyOrder {
  readonly receiver: Address;
  readonly quote: EnergyQuote;
}

export type OrderOutcome =
  /** `ref`: the seller's order id, for operators who contact the seller. */
  | { readonly kind: 'ORDERED'; readonly ref: string }
  /** The seller took no money and will not deliver. */
  | { readonly kind: 'REFUSED'; readonly why: string }
  /** No usable answer. The seller may have accepted the order and taken the money. */
  | { readonly kind: 'UNKNOWN'; readonly why: string };

export interface EnergySeller {
  readonly name: string;
  /** undefined when the seller does not offer that much or does not answer. Never throws. */
  quote(energy: bigint, receiver: Address, signal: AbortSignal): Promise<EnergyQuote | undefined>;
  /** Never throws. Not idempotent: sellers accept no order id of the customer, so a repeated call is a second order. */
  order(order: EnergyOrder, signal: AbortSignal): Promise<OrderOutcome>;
}
