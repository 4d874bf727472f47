import { describeReceivers } from './support/describe-receivers.ts';

/** The other languages are in receivers.full.test.ts. */
describeReceivers(['Node.js']);
