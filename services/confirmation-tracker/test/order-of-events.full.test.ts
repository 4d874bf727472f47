import { describeOrderOfEvents } from './order-of-events.ts';

describeOrderOfEvents(10);
