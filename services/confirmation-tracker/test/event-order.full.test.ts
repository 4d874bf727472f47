import { describeOrderOfEvents } from './event-order.ts';

describeOrderOfEvents(10);
