import { describeReceivers } from './support/describe-receivers.ts';

describeReceivers(['Node.js', 'Python', 'PHP', 'Go', 'Java']);
