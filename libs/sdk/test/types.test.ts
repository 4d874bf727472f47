import { expect, it } from 'vitest';
import type {
  OrderAnswer,
  OrderStateAnswer,
  PayinOrderAnswer,
  SupportedSymbolAnswer,
} from '@opentill/contracts/http/answers';
import type { NotifyOrder, NotifyType, NotifyUnmatched } from '@opentill/contracts/notify-order';
import type {
  CheckoutOrder,
  CreatedOrder,
  Order,
  OrderWithUnmatched,
  SupportedSymbol,
} from '../src/orders.ts';
import type { Callback, UnmatchedOrder } from '../src/verify-callback.ts';

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

// The compiler checks this. The assertion only makes it a test.
it('declares the same types as the API contract', () => {
  const same: readonly true[] = [
    true satisfies Same<CreatedOrder, OrderAnswer>,
    true satisfies Same<CheckoutOrder, PayinOrderAnswer>,
    true satisfies Same<SupportedSymbol, SupportedSymbolAnswer>,
    true satisfies Same<Order, NotifyOrder>,
    true satisfies Same<OrderWithUnmatched, OrderStateAnswer>,
    true satisfies Same<UnmatchedOrder, NotifyUnmatched>,
    true satisfies Same<Callback['notifyType'], NotifyType>,
  ];
  expect(same).not.toContain(false);
});
