import { describe, it } from 'vitest';
import { forgetNone } from './long-orders.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';

const s = useDeliveryScenario();

describe('orders with more callbacks than a claim reads', () => {
  it.each([true, false])('forgets no callback under concurrent changes (with the trigger: %s)', (guarded) =>
    forgetNone(s, { guarded, before: 0, steps: 120 }),
  );
});
