import { CONTROLS, describeBreakerModel } from './breaker-model.ts';

describeBreakerModel({ walks: 1, ways: [], controls: CONTROLS.slice(2), everyStep: 6 });
