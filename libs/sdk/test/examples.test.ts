import { describeExamples } from './examples.ts';

/** The other languages are in examples.full.test.ts. */
describeExamples(['node']);
