import { it } from 'vitest';
import { deliverInOrder } from './deliver-in-order.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';

const s = useDeliveryScenario();

it('replicas never send an older callback of an order after a newer one, nor two of one order at once', () =>
  deliverInOrder(s, 60));
