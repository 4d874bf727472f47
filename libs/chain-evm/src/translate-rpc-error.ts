import type { ReaderErrorCode } from '@opentill/chain/reader-error';

export interface RpcErrorAnswer {
  readonly code: number;
  readonly message: string;
}

/** Codes with a single meaning everywhere (JSON-RPC 2.0, EIP-1474, HTTP statuses used as codes). */
const BY_CODE: Readonly<Record<number, ReaderErrorCode>> = {
  429: 'RPC_RATE_LIMITED',
  [-32601]: 'RPC_METHOD_MISSING',
  [-32004]: 'RPC_METHOD_MISSING',
  [-32603]: 'RPC_UNAVAILABLE',
  // QuickNode's caps per second and per minute.
  [-32007]: 'RPC_RATE_LIMITED',
  [-32008]: 'RPC_RATE_LIMITED',
  [-32012]: 'RPC_RATE_LIMITED',
  // QuickNode, and the endpoints it runs for others: more blocks, or a larger answer, than the account may ask for.
  [-32614]: 'RPC_RANGE_TOO_LARGE',
  [-32616]: 'RPC_RANGE_TOO_LARGE',
  // EIP-1474's "limit exceeded": requests. Limits of results are recognised by their wording first.
  [-32005]: 'RPC_RATE_LIMITED',
};

/**
 * First match counts. Vendors use one code for different things (-32000, -32005, -32600, -32602), so wordings precede
 * codes. The test of this file lists the wordings.
 */
const BY_WORDING: readonly (readonly [RegExp, ReaderErrorCode])[] = [
  [
    /finalized block (?:is )?not found|finalized header not found|safe block not found/i,
    'FINALITY_UNAVAILABLE',
  ],
  // Beyond the node's head: geth ≥ 1.17, reth, bsc, coreth, besu, anvil, erigon, nethermind.
  [/beyond (?:current |the )?(?:head|latest)/i, 'BLOCK_NOT_FOUND'],
  [/invalid block range params/i, 'BLOCK_NOT_FOUND'],
  [/after last accepted block/i, 'BLOCK_NOT_FOUND'],
  [/BlockOutOfRangeError|block height is \d+ but requested was/i, 'BLOCK_NOT_FOUND'],
  [
    /(?:unknown|missing) block|block (?:is )?not (?:yet )?(?:found|available)|(?:header|body) (?:for hash )?not found/i,
    'BLOCK_NOT_FOUND',
  ],
  [
    /(?:could not|cannot) find block|greater than latest block|(?:could not|cannot) be found/i,
    'BLOCK_NOT_FOUND',
  ],
  // More blocks or results than one answer may hold.
  [/block range (?:is )?(?:too (?:wide|large|big)|limit|exceed)/i, 'RPC_RANGE_TOO_LARGE'],
  [
    /limited to (?:a |an )?[\d,]+ (?:blocks? )?range|up to (?:a |an )?[\d,]+k? blocks? range/i,
    'RPC_RANGE_TOO_LARGE',
  ],
  [
    /exceed(?:s|ed)? (?:the )?(?:max(?:imum)? )?(?:allowed )?(?:block )?(?:range|results)/i,
    'RPC_RANGE_TOO_LARGE',
  ],
  [/max(?:imum)? (?:block )?range|too wide blocks range|ranges? over [\d,]+ blocks/i, 'RPC_RANGE_TOO_LARGE'],
  [
    /range (?:is )?too (?:large|wide|big|high)|range \d+ (?:exceeds|is bigger than)|exceeds the range|exceeds maximum RPC range/i,
    'RPC_RANGE_TOO_LARGE',
  ],
  [
    /range(?: is)? (?:larger|bigger|greater) than|block range [\d,]*\s*exceeds|at most [\d,]+ blocks|blocks distance/i,
    'RPC_RANGE_TOO_LARGE',
  ],
  [
    /number of requested blocks is|must be smaller than size|limited to [\d,]+ blocks?/i,
    'RPC_RANGE_TOO_LARGE',
  ],
  [
    /(?:query returned|returns?) more than [\d,]+ (?:results|logs)|too many (?:logs|results|blocks)/i,
    'RPC_RANGE_TOO_LARGE',
  ],
  [/requested too many blocks|logs matched by query exceeds/i, 'RPC_RANGE_TOO_LARGE'],
  [
    /response (?:size|is) (?:exceed|too)|response size should not|response too (?:large|big)|response size is larger|log response size/i,
    'RPC_RANGE_TOO_LARGE',
  ],
  [/query (?:timeout exceeded|timed out)|query execution timed? ?out/i, 'RPC_RANGE_TOO_LARGE'],
  [
    /rate limit|too many requests?|request limit|credits limited|requests limited|requests? (?:per|a) (?:second|minute)|compute units|throughput|quota|capacity|too much load/i,
    'RPC_RATE_LIMITED',
  ],
  [/daily (?:request|relay)/i, 'RPC_RATE_LIMITED'],
  // Method or access missing.
  [
    /method (?:\S+ )?(?:does not exist|not (?:found|supported|available|allowed|whitelisted))|unsupported method/i,
    'RPC_METHOD_MISSING',
  ],
  [
    /unauthori[sz]ed|invalid (?:api|project) ?(?:key|id)|must be authenticated|api key (?:is )?(?:disabled|invalid)/i,
    'RPC_FORBIDDEN',
  ],
  [
    /timed? ?out|timeout|internal (?:server )?error|temporarily unavailable|service unavailable|overloaded/i,
    'RPC_UNAVAILABLE',
  ],
];

export function codeOfRpcError(error: RpcErrorAnswer): ReaderErrorCode {
  return (
    BY_WORDING.find(([wording]) => wording.test(error.message))?.[1] ?? BY_CODE[error.code] ?? 'RPC_REFUSED'
  );
}

/**
 * True if the contract itself rejected the call: geth's code 3, or a wording of geth, erigon, besu, nethermind
 * (execution reverted, invalid opcode, invalid jump destination, VM execution error, Reverted 0x…), coreth, reth.
 */
export function isRevert(error: RpcErrorAnswer): boolean {
  return (
    error.code === 3 ||
    /\brevert(?:ed)?\b|VM execution error|(?:invalid|bad) (?:opcode|instruction|jump)|stack underflow/i.test(
      error.message,
    )
  );
}

/** The provider rejects the number of calls. The test of this file lists the wordings. */
const BATCH_REFUSED =
  /\bbatch(?:ed|ing)?\b.*(?:too (?:large|big|many|long)|limit|exceed|not (?:supported|allowed|enabled)|disabled|max)|(?:exceed|max|too many).*\bbatch/i;
const BATCHES_REFUSED = /\bbatch(?:ed|ing)?\b.*(?:not (?:supported|enabled)|disabled)/i;
const BATCH_MAX =
  /(?:limit(?: of)?|more than|maximum(?: batch)?(?: size)?(?: is| of)?:?|max(?: batch)? size:?) (\d+)/i;
const ANSWERS_TOO_LARGE = /batch response (?:was |is )?too large|MaxBatchResponseBodySize/i;
/** geth's answer to calls of a batch whose answers no longer fit. */
const GETH_ANSWERS_TOO_LARGE = -32003;
/** Codes of a server that does not support batches (JSON-RPC 2.0: invalid request, parse error). */
const NOT_UNDERSTOOD: readonly number[] = [-32600, -32700];

/**
 * Recognises an error about the batch, so that smaller batches may succeed. `coversBatch`: it is the only answer to the
 * whole batch. `lasting`: any batch of this size would be rejected, not only one with answers as large as these.
 */
export function batchRefusalOf(
  error: RpcErrorAnswer,
  coversBatch: boolean,
): { readonly callsMax: number | undefined; readonly lasting: boolean } | undefined {
  const { code, message } = error;
  if (ANSWERS_TOO_LARGE.test(message) || (code === GETH_ANSWERS_TOO_LARGE && /too large/i.test(message)))
    return { callsMax: undefined, lasting: false };
  if (BATCH_REFUSED.test(message) && !/rate limit|batch triggered/i.test(message)) {
    const named = BATCH_MAX.exec(message)?.[1];
    if (BATCHES_REFUSED.test(message)) return { callsMax: 1, lasting: true };
    return { callsMax: named === undefined ? undefined : Math.max(1, Number(named)), lasting: true };
  }
  const unknown = codeOfRpcError(error) === 'RPC_REFUSED';
  return coversBatch && unknown && NOT_UNDERSTOOD.includes(code) ? { callsMax: 1, lasting: true } : undefined;
}
