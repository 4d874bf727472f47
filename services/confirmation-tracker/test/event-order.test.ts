import { describeOrderOfEvents } from './event-order.ts';

/** More delivery orders are in event-order.full.test.ts. */
describeOrderOfEvents(2, 1);
