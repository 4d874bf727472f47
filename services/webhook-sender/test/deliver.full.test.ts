import { it } from 'vitest';
import { deliverInOrder } from './deliver-in-order.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';

const s = useDeliveryScenario();

it('keeps the order of callbacks and never sends two of one order at once', () => deliverInOrder(s, 60));
