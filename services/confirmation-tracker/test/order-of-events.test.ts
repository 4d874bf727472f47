import { describeOrderOfEvents } from './order-of-events.ts';

/** More delivery orders are in order-of-events.full.test.ts. */
describeOrderOfEvents(2);
