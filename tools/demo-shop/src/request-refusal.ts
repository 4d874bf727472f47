/** The shop rejects a request of a browser or program. The message names the correction. */
export class RequestRefusal extends Error {
  readonly status: 400 | 403;

  constructor(status: 400 | 403, message: string) {
    super(message);
    this.status = status;
  }
}
