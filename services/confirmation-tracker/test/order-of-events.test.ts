import { describeOrderOfEvents } from './order-of-events.ts';

/** More ways are in order-of-events.full.test.ts. */
describeOrderOfEvents(2);
