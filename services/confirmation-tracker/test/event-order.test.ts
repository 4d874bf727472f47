import { describeOrderOfEvents } from './event-order.ts';

/** More delivery orders are in order-of-events.full.test.ts. */
describeOrderOfEvents(2);
