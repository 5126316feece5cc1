// Keeps a page that fails from taking the others with it.
import { Component, type ReactNode } from "react";
import { Button } from "../ui/Button";
import { Empty } from "../ui/states";

export class Fault extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <Empty
        title="This page has failed"
        action={
          <>
            <Button onPress={() => this.setState({ error: null })}>Show it again</Button>{" "}
            <Button onPress={() => location.reload()}>Reload</Button>
          </>
        }
      >
        {this.state.error.message}. The other pages still work.
      </Empty>
    );
  }
}
