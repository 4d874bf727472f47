import { describeSimulation } from './scan-simulation.ts';

/** All statements and 25 random histories of each kind are in scan-simulation.full.test.ts. This seed has all kinds of deeds. */
describeSimulation({ everyStatement: 6, histories: 3, seed: 35 });
