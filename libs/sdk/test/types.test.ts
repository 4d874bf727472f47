import { expect, it } from 'vitest';
import type {
  OpenOrderAnswer,
  OrderAnswer,
  OrderStateAnswer,
  PayinOrderAnswer,
  SupportedSymbolAnswer,
} from '@opentill/contracts/http/answers';
import type { NotifyOrder, NotifyType, NotifyUnmatched } from '@opentill/contracts/notify-order';
import type {
  Chain,
  CheckoutOrder,
  CreatedOrder,
  OpenOrder,
  Order,
  OrderWithUnmatched,
  SupportedSymbol,
} from '../src/orders.ts';
import type { Callback, UnmatchedOrder } from '../src/verify-callback.ts';

/** The gateway narrows chain names to those of its networks file. A client does not know them. */
type OfClient<T> = T extends readonly (infer I)[]
  ? readonly OfClient<I>[]
  : T extends object
    ? { readonly [K in keyof T]: K extends 'chain' ? Chain : OfClient<T[K]> }
    : T;
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

// The compiler checks this. The assertion only makes it a test.
it('declares the same types as the API contract', () => {
  const same: readonly true[] = [
    true satisfies Same<CreatedOrder, OfClient<OrderAnswer>>,
    true satisfies Same<OpenOrder, OfClient<OpenOrderAnswer>>,
    // Fields that were added after 0.1.0 are optional, so that code for it compiles.
    true satisfies Same<Required<CheckoutOrder>, Required<OfClient<PayinOrderAnswer>>>,
    true satisfies Same<SupportedSymbol, OfClient<SupportedSymbolAnswer>>,
    true satisfies Same<Order, OfClient<NotifyOrder>>,
    true satisfies Same<OrderWithUnmatched, OfClient<OrderStateAnswer>>,
    true satisfies Same<UnmatchedOrder, OfClient<NotifyUnmatched>>,
    true satisfies Same<Callback['notifyType'], NotifyType>,
  ];
  expect(same).not.toContain(false);
});
