import type { Address } from '@opentill/chain/address-codec';

/*
 * Somebody who lends energy to an address for money. Sellers of the field have their customers' money before: an order is paid
 * out of a balance that the operator keeps with them, so no order sends a coin, and the most that a seller can take is what
 * lies there. None of them can be believed: what was delivered is what two nodes say of the address.
 */

/** What so much energy costs now. */
export interface EnergyQuote {
  /** Perhaps more than was asked for: sellers have a smallest order. */
  readonly energy: bigint;
  readonly priceSun: bigint;
  /** What the seller asks for a unit, sun: an order names it, so that he takes no more. */
  readonly unitPriceSun: bigint;
}

export interface EnergyOrder {
  readonly receiver: Address;
  readonly quote: EnergyQuote;
}

export type OrderOutcome =
  /** `ref`: what the seller calls it, for operators who ask him. */
  | { readonly kind: 'ORDERED'; readonly ref: string }
  /** He took nothing, and will deliver nothing. */
  | { readonly kind: 'REFUSED'; readonly why: string }
  /** He may have taken it, and the money: no answer, or one that says nothing. */
  | { readonly kind: 'UNKNOWN'; readonly why: string };

export interface EnergySeller {
  /** For people and metrics: the host. */
  readonly name: string;
  /** For at least so much. Undefined when he sells not so much, or does not say. Never throws. */
  quote(energy: bigint, receiver: Address, signal: AbortSignal): Promise<EnergyQuote | undefined>;
  /**
   * Orders once. To be called at most once for what is to be bought at most once: sellers know no order by the customer's name
   * for it, and an order that is sent again is another one. Never throws.
   */
  order(order: EnergyOrder, signal: AbortSignal): Promise<OrderOutcome>;
}
