import { CONTROLS, describeBreakerModel, WAYS } from './breaker-model.ts';

describeBreakerModel({ walks: 5, ways: WAYS, controls: CONTROLS, everyStep: 1 });
