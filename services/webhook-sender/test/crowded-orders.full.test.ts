import { describe, it } from 'vitest';
import { forgetNone } from './crowded-orders.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';

const s = useDeliveryScenario();

describe('an order with more callbacks than a claim looks at', () => {
  it.each([true, false])(
    'whatever is done at the same time, forgets none (with the trigger: %s)',
    (guarded) => forgetNone(s, { guarded, before: 0, steps: 120 }),
  );
});
