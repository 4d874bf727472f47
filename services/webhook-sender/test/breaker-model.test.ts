import { CONTROLS, describeBreakerModel } from './breaker-model.ts';

/** All ways, controls and steps are in breaker-model.full.test.ts. */
describeBreakerModel({ walks: 1, ways: [], controls: CONTROLS.slice(2), everyStep: 6 });
