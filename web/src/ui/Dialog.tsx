// A dialog in front of the page: it takes the focus, gives it back, and Escape closes it.
import type { ReactNode } from "react";
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from "react-aria-components";

interface Props {
  title: string;
  open: boolean;
  onClose(): void;
  children: ReactNode;
  wide?: boolean;
  /** Where it is not said again in the dialog. */
  hideTitle?: boolean;
}

export function Dialog({ title, open, onClose, children, wide = false, hideTitle = false }: Props) {
  return (
    <ModalOverlay
      isOpen={open}
      onOpenChange={(now) => {
        if (!now) onClose();
      }}
      isDismissable
      className="overlay"
    >
      <Modal className={wide ? "modal wide" : "modal"}>
        <AriaDialog className="dialog">
          <Heading slot="title" className={hideTitle ? "unseen" : "dialog-title"}>
            {title}
          </Heading>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
