import { GrpcTypes, type GrpcWebFetchTransport, type SuiGrpcClient } from '@mysten/sui/grpc';

type Ledger = SuiGrpcClient['ledgerService'];
type Method = Parameters<GrpcWebFetchTransport['serverStreaming']>[0];

export type ListCheckpointBytes = (
  request: Parameters<typeof GrpcTypes.ListCheckpointsRequest.create>[0],
  call: Parameters<Ledger['listCheckpoints']>[1],
  onMessage: (message: Uint8Array) => void,
) => Promise<void>;

/** The transport only calls `fromBinary` of a message type. */
const AS_IT_IS = { fromBinary: (bytes: Uint8Array) => bytes } as unknown as Method['O'];

export function createListCheckpointBytes(
  transport: GrpcWebFetchTransport,
  ledger: Ledger,
): ListCheckpointBytes {
  const list = ledger.methods.find(({ name }) => name === 'ListCheckpoints');
  if (list === undefined) throw new TypeError('the SDK has no method ListCheckpoints');
  const method: Method = { ...list, O: AS_IT_IS };
  return async (request, call, onMessage) => {
    const asked = GrpcTypes.ListCheckpointsRequest.create(request);
    const stream = transport.serverStreaming(method, asked, transport.mergeOptions(call));
    stream.responses.onMessage((message) => onMessage(message as Uint8Array));
    await stream;
  };
}
