import { describeSimulation } from './scan-simulation.ts';

/**
 * scan-simulation.full.test.ts covers all statements and 25 random histories of each kind. This seed covers all
 * kinds of steps.
 */
describeSimulation({ everyStatement: 6, histories: 3, seed: 35 });
