import { describeSimulation } from './scan-simulation.ts';

describeSimulation({ everyStatement: 1, histories: 25 });
