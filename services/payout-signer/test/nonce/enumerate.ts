import { enumerateFaults, type Sum } from '../model/enumerate.ts';
import { runModel, type FaultKind, type Variant } from './model-world.ts';

const KINDS: readonly FaultKind[] = [
  'crash',
  'lost-request',
  'lost-reply',
  'drop',
  'mine',
  'stall',
  'reorganise',
  'expire',
  'takeover',
  'foreign',
];

export const enumerate = (variant: Variant = {}, kinds = KINDS, stride = 1): Promise<Sum> =>
  enumerateFaults<FaultKind>(
    (faults) => runModel(faults, variant),
    kinds,
    (first) => (first === 'crash' ? kinds : ['crash']),
    stride,
  );
