import { describeExamples } from './examples.ts';

describeExamples(['node', 'python', 'php', 'go', 'java']);
