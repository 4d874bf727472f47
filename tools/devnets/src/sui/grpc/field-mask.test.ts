import { GrpcTypes } from '@mysten/sui/grpc';
import { expect, test } from 'vitest';
import { makeFields, readMask } from './field-mask.ts';

const EFFECTS = GrpcTypes.TransactionEffects.create({
  digest: 'd',
  gasUsed: { computationCost: 1n, storageCost: 2n },
  status: {
    success: false,
    error: { description: 'why', errorDetails: { oneofKind: 'abort', abort: { abortCode: 7n } } },
  },
  changedObjects: [{ objectId: '0x1', outputDigest: 'o' }],
});

function masked(...paths: readonly string[]): { readonly message: object; readonly made: readonly string[] } {
  const made: string[] = [];
  const mask = readMask(GrpcTypes.ExecutedTransaction, { paths }, ['digest']);
  const message = makeFields<GrpcTypes.ExecutedTransaction>(GrpcTypes.ExecutedTransaction, mask, {
    digest() {
      made.push('digest');
      return 'x';
    },
    effects() {
      made.push('effects');
      return EFFECTS;
    },
    checkpoint: () => undefined,
  });
  return {
    message: GrpcTypes.ExecutedTransaction.toJson(message as GrpcTypes.ExecutedTransaction) as object,
    made,
  };
}

test('computes and returns only the fields of the mask', () => {
  expect(masked()).toEqual({ message: { digest: 'x' }, made: ['digest'] });
  expect(masked('effects.gas_used.storage_cost')).toEqual({
    message: { effects: { gasUsed: { storageCost: '2' } } },
    made: ['effects'],
  });
  expect(masked('effects.changed_objects.object_id').message).toEqual({
    effects: { changedObjects: [{ objectId: '0x1' }] },
  });
  expect(masked('effects.status.error.abort').message).toEqual({
    effects: { status: { error: { abort: { abortCode: '7' } } } },
  });
});

test('returns a whole field although the mask also names its parts', () => {
  const whole = masked('effects').message;
  expect(masked('effects', 'effects.digest').message).toEqual(whole);
  expect(masked('effects.digest', 'effects').message).toEqual(whole);
  expect(masked('*').message).toEqual({ digest: 'x', ...whole });
});

test.each(['nonsense', 'effects.nonsense', 'digest.more', ''])('rejects the field path "%s"', (path) => {
  expect(() => masked(path)).toThrow(`invalid read_mask path: ${path}`);
});
