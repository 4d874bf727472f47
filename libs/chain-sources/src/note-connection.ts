import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Notes the connection that a request is sent over. @returns whether something was asked over it before, once the request has it; not
 * `reusedSocket`: Node calls a connection new that another request has just left to this one, which waited for it.
 * @param usedBefore the connections over which something was asked
 */
export function noteConnection(request: ClientRequest, usedBefore: WeakSet<Socket>): () => boolean {
  let isKept = false;
  request.on('socket', (socket) => {
    isKept = usedBefore.has(socket);
    usedBefore.add(socket);
  });
  return () => isKept;
}
