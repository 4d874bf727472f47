import { CONTROLS, describeBreakerModel } from './breaker-model.ts';

/** breaker-model.full.test.ts runs all ways, controls and steps. */
describeBreakerModel({ walks: 1, ways: [], controls: CONTROLS.slice(2), everyStep: 6 });
