import { describeSimulation } from './scan-simulation.ts';

/** This seed covers all kinds of steps; scan-simulation.full.test.ts covers all statements and 25 random histories. */
describeSimulation({ everyStatement: 9, histories: 3, seed: 35 });
